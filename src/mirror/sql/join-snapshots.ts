/**
 * Joins equal snapshots of availability: one row stands for those of a quarter of an hour that follow each other at once. No
 * time zone divides a quarter of an hour, so facts derived from the rows stay the same.
 */
import { sql } from 'kysely'
import { type EpochSeconds, parseTime, rfc3339 } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { readCursor, writeCursors } from './sync-state.ts'

const cursorName = 'availability:joined'
const rowsPerStep = 2000
const quarterSeconds = 900
/** Snapshots that are further apart say nothing about the time between them. */
const maxDistanceSeconds = 90

/** Of those before `limit` (RFC 3339). Returns how many rows fewer there are. */
export async function joinSnapshots(context: ProjectDb, limit: string, until: number): Promise<number> {
  const end = quarterOf(parseTime(limit) ?? 0)
  for (let joined = 0; ; ) {
    const from = parseTime(await readCursor(context, cursorName)) ?? 0
    const rows = performance.now() > until ? [] : await readSnapshots(context, from, end)
    if (rows.length === 0) return joined
    // The rest of the last quarter may not have been read.
    const to = rows.length < rowsPerStep ? end : quarterOf(rows.at(-1)?.at ?? end)
    const groups = groupEqual(rows.filter(({ at }) => at < to))
    await context.db.transaction().execute(async (db) => {
      for (const group of groups) joined += await joinGroup({ ...context, db }, group)
      await writeCursors({ ...context, db }, { [cursorName]: rfc3339(Math.max(to, from + quarterSeconds)) })
    })
  }
}

function quarterOf(at: EpochSeconds): EpochSeconds {
  return Math.floor(at / quarterSeconds) * quarterSeconds
}

type Snapshot = Awaited<ReturnType<typeof readSnapshots>>[number]

async function readSnapshots({ db, project, typed }: ProjectDb, from: EpochSeconds, to: EpochSeconds) {
  const { rows } = await sql<{ at: string; until: string | null; count: number | null; raw: string }>`
    select taken_at as at, same_until as until, same_count as count, cast(raw as text) as raw from availability_snapshots
    where project_id = ${project} and taken_at >= ${typed('time', rfc3339(from))} and taken_at < ${typed('time', rfc3339(to))}
    order by taken_at limit ${sql.lit(rowsPerStep)}`.execute(db)
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

async function joinGroup({ db, project, typed }: ProjectDb, group: readonly Snapshot[]): Promise<number> {
  const [first, last] = [group[0], group.at(-1)]
  if (first === undefined || last === undefined || first === last) return 0
  const [at, to] = [typed('time', rfc3339(first.at)), typed('time', rfc3339(last.until))]
  const count = group.reduce((sum, snapshot) => sum + snapshot.count, 0)
  await sql`
    update availability_snapshots set same_until = ${to}, same_count = ${typed('integer', count)}
    where project_id = ${project} and taken_at = ${at}`.execute(db)
  await sql`delete from availability_snapshots
    where project_id = ${project} and taken_at > ${at} and taken_at <= ${to}`.execute(db)
  return group.length - 1
}
