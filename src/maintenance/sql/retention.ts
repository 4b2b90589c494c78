/** Deletes what has been kept long enough, some rows at a time, so that other work goes on in between. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { Retention } from '../../config/fields.ts'
import { joinSnapshots } from '../../mirror/sql/join-snapshots.ts'
import { deleteWords } from '../../outbox/sql/delete-words.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { createProjectDb } from '../../warehouse/project-db.ts'

const rowsPerStep = 1000

/** `until`: by `performance.now()`; the next time continues. Returns how many rows of each kind were deleted or shortened. */
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
  const repeat = async (kept: keyof Retention, step: (before: string) => Promise<number>): Promise<number> => {
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
  const deleteSome = async (table: string, condition: RawBuilder<unknown>) => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where (project_id, id) in (
        select project_id, id from ${sql.table(table)} as old where ${condition} limit ${sql.lit(rowsPerStep)})`.execute(
      db,
    )
    return Number(numAffectedRows ?? 0n)
  }
  return {
    // `status` shows the last one, and facts begin with the first.
    runs: await repeat('runs', (at) =>
      deleteSome(
        'sync_runs',
        sql`finished_at < ${at}
          and exists (select 1 from sync_runs later where later.project_id = old.project_id and later.id > old.id)
          and exists (select 1 from sync_runs earlier where earlier.project_id = old.project_id and earlier.id < old.id)`,
      ),
    ),
    gaps: await repeat('gaps', (at) => deleteSome('sync_gaps', sql`resolved_at < ${at}`)),
    events: await repeat('events', (at) => deleteSome('console_events', sql`at < ${at}`)),
    writebacks: await repeat('writebacks', async (at) => {
      await deleteSome('writeback_cancellations', sql`finished_at < ${at}`)
      // The batch stays, as its write-backs do.
      await sql`update writeback_batches set title = null, source = null, note = null where finished_at < ${at}
        and (title is not null or source is not null or note is not null)`.execute(db)
      return deleteWords(
        createProjectDb(db, kind, ''),
        sql`finished_at < ${at} and erased_at is null
          and status in ('succeeded','failed','conflict','cancelled','expired') limit ${sql.lit(rowsPerStep)}`,
      )
    }),
    snapshots: await joinOfAllProjects(db, kind, before('snapshots'), until),
  }
}

async function joinOfAllProjects(db: Db, kind: DatabaseKind, limit: string | null, until: number): Promise<number> {
  if (limit === null) return 0
  const { rows } = await sql<{ project: ProjectId }>`
    select project_id as project from sync_streams where stream = 'availability'`.execute(db)
  let joined = 0
  for (const { project } of rows) joined += await joinSnapshots(createProjectDb(db, kind, project), limit, until)
  return joined
}
