/** Deletes what has been kept long enough, some rows at a time. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { historyTable } from '../../../schema/mirror-tables.ts'
import { listStreamNames } from '../../../schema/stream-specs.ts'
import { tables } from '../../../schema/tables.ts'
import type { Retention } from '../../config/fields.ts'
import { readCursor, writeCursors } from '../../mirror/sql/sync-state.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { deleteBudgetHistory } from '../../service/sql/request-counts.ts'
import type { ProjectId } from '../../values/project.ts'
import {
  dayMs,
  type EpochMs,
  type EpochSeconds,
  parseTime,
  rfc3339,
  toTimestamp,
} from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { createProjectDb, type ProjectDb } from '../../warehouse/project-db.ts'

const rowsPerStep = 1000

/**
 * `until`: by `performance.now()`; the next time continues. Returns the rows deleted or shortened.
 */
export async function deleteExpired(
  db: Db,
  kind: DatabaseKind,
  retention: Retention,
  { now, until }: { readonly now: EpochMs; readonly until: number },
): Promise<Readonly<Record<keyof Retention, number>>> {
  const before = (kept: keyof Retention) => {
    const ms = retention[kept]
    return ms === null ? null : toTimestamp(now - ms)
  }
  const repeat = async (
    kept: keyof Retention,
    step: (before: string) => Promise<number>,
  ): Promise<number> => {
    const limit = before(kept)
    if (limit === null) return 0
    for (let total = 0; ; ) {
      const rows = performance.now() > until ? 0 : await step(limit)
      if (rows === 0) return total
      total += rows
      // Lets other work use SQLite's single connection in between.
      await new Promise(setImmediate)
    }
  }
  const deleteSome = async (
    table: keyof typeof tables,
    condition: RawBuilder<unknown>,
  ): Promise<number> => {
    const key = sql.join(tables[table].key.map((name) => sql.ref(name)))
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where (${key}) in (
        select ${key} from ${sql.table(table)} as old
        where ${condition} limit ${sql.lit(rowsPerStep)})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
  return {
    // `status` shows the last one, and facts begin with the first.
    runs: await repeat('runs', (at) =>
      deleteSome(
        'sync_runs',
        sql`finished_at < ${at}
          and exists (select 1 from sync_runs later where later.project_id = old.project_id
          and later.id > old.id)
          and exists (select 1 from sync_runs earlier where earlier.project_id = old.project_id
          and earlier.id < old.id)`,
      ),
    ),
    gaps: await repeat('gaps', (at) => deleteSome('sync_gaps', sql`resolved_at < ${at}`)),
    events: await repeat('events', (at) => deleteSome('console_events', sql`at < ${at}`)),
    writebacks: await repeat('writebacks', async (at) => {
      await deleteSome('writeback_cancellations', sql`finished_at < ${at}`)
      // The batch stays, as its write-backs do.
      await sql`update writeback_batches set title = null, source = null, note = null
        where finished_at < ${at}
        and (title is not null or source is not null or note is not null)`.execute(db)
      return createOutbox(createProjectDb(db, kind, '')).deleteWords(
        sql`finished_at < ${at} and erased_at is null
          and status in ('succeeded','failed','conflict','cancelled','expired') limit
          ${sql.lit(rowsPerStep)}`,
      )
    }),
    history: await repeat('history', async (at) => {
      let rows = 0
      for (const list of listStreamNames)
        rows += await deleteSome(historyTable(list), sql`valid_to < ${at}`)
      return rows
    }),
    snapshots: await joinOfAllProjects(db, kind, before('snapshots'), until),
  }
}

/** Of audits, three times what `status` counts. */
export const recordRetentionMs = {
  idleRuns: 7 * dayMs,
  audits: 90 * dayMs,
  budget: 90 * dayMs,
} as const

/**
 * Of `run` in `sync_runs`: no row refers to it, as it changed nothing, and it is not the last one of
 * its project, which `status` shows.
 */
export const isDeletableRun = sql`run.rows_changed = 0 and run.strings_escaped = 0
  and exists (select 1 from sync_runs later
    where later.project_id = run.project_id and later.id > run.id)`

/** Deletes what the program keeps for itself. */
export async function deleteOldRecords(db: Db, now: EpochMs) {
  const before = (kept: keyof typeof recordRetentionMs) =>
    toTimestamp(now - recordRetentionMs[kept])
  const { numAffectedRows: runs } = await sql`
    delete from sync_runs as run
    where run.finished_at < ${before('idleRuns')} and ${isDeletableRun}`.execute(db)
  await sql`delete from sync_audits where finished_at < ${before('audits')}`.execute(db)
  await deleteBudgetHistory(db, now - recordRetentionMs.budget)
  return { runsDeleted: Number(runs) }
}

async function joinOfAllProjects(
  db: Db,
  kind: DatabaseKind,
  limit: string | null,
  until: number,
): Promise<number> {
  if (limit === null) return 0
  const { rows } = await sql<{ project: ProjectId }>`
    select project_id as project from sync_streams where stream = 'availability'`.execute(db)
  let joined = 0
  for (const { project } of rows)
    joined += await joinSnapshots(createProjectDb(db, kind, project), limit, until)
  return joined
}

const cursorName = 'availability:joined'
const snapshotsPerStep = 2000
const quarterSeconds = 900
/** Snapshots that are further apart say nothing about the time between them. */
const maxDistanceSeconds = 90

/**
 * Joins equal snapshots: one row stands for those of a quarter of an hour that follow each other at
 * once. No time zone divides a quarter, so facts stay the same. Returns how many rows fewer there
 * are.
 */
async function joinSnapshots(context: ProjectDb, limit: string, until: number): Promise<number> {
  const end = quarterOf(parseTime(limit) ?? 0)
  for (let joined = 0; ; ) {
    const from = parseTime(await readCursor(context, cursorName)) ?? 0
    const rows = performance.now() > until ? [] : await readSnapshots(context, from, end)
    if (rows.length === 0) return joined
    // The rest of the last quarter may not have been read.
    const to = rows.length < snapshotsPerStep ? end : quarterOf(rows.at(-1)?.at ?? end)
    const groups = groupEqual(rows.filter(({ at }) => at < to))
    await context.db.transaction().execute(async (db) => {
      for (const group of groups) joined += await joinGroup({ ...context, db }, group)
      await writeCursors(
        { ...context, db },
        { [cursorName]: rfc3339(Math.max(to, from + quarterSeconds)) },
      )
    })
  }
}

function quarterOf(at: EpochSeconds): EpochSeconds {
  return Math.floor(at / quarterSeconds) * quarterSeconds
}

type Snapshot = Awaited<ReturnType<typeof readSnapshots>>[number]

async function readSnapshots(
  { db, project, typed }: ProjectDb,
  from: EpochSeconds,
  to: EpochSeconds,
) {
  const { rows } = await sql<{
    at: string
    until: string | null
    count: number | null
    raw: string
  }>`
    select read_at as at, same_until as until, same_count as count, cast(raw as text) as raw
    from availability_snapshots
    where project_id = ${project} and read_at >= ${typed('time', rfc3339(from))}
    and read_at < ${typed('time', rfc3339(to))}
    order by read_at limit ${sql.lit(snapshotsPerStep)}`.execute(db)
  return rows.map(({ at, until, count, raw }) => {
    const taken = parseTime(at) ?? 0
    return { at: taken, until: parseTime(until) ?? taken, count: Number(count ?? 1), raw }
  })
}

function groupEqual(rows: readonly Snapshot[]): Snapshot[][] {
  const groups: Snapshot[][] = []
  for (const row of rows) {
    const last = groups.at(-1)?.at(-1)
    const isSame = last?.raw === row.raw && quarterOf(last.at) === quarterOf(row.at)
    if (isSame && row.at - last.until <= maxDistanceSeconds) groups.at(-1)?.push(row)
    else groups.push([row])
  }
  return groups
}

async function joinGroup(
  { db, project, typed }: ProjectDb,
  group: readonly Snapshot[],
): Promise<number> {
  const first = group[0]
  const last = group.at(-1)
  if (first === undefined || last === undefined || first === last) return 0
  const at = typed('time', rfc3339(first.at))
  const to = typed('time', rfc3339(last.until))
  const count = group.reduce((sum, snapshot) => sum + snapshot.count, 0)
  await sql`
    update availability_snapshots set same_until = ${to}, same_count = ${typed('integer', count)}
    where project_id = ${project} and read_at = ${at}`.execute(db)
  await sql`delete from availability_snapshots
    where project_id = ${project} and read_at > ${at} and read_at <= ${to}`.execute(db)
  return group.length - 1
}
