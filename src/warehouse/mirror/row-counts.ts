/** Remembered numbers of rows, deleted ones included: counting a million takes seconds where nothing is cached. */
import { sql } from 'kysely'
import { isCountDue, type RowCount } from '../../core/row-counts.ts'
import { type StreamName, streamSpecs } from '../../core/stream-specs.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'

/** The streams that have been counted. */
export async function readRowCounts({ db, project }: ProjectDb): Promise<ReadonlyMap<StreamName, RowCount>> {
  const rows = await db
    .selectFrom('sync_streams')
    .select(['stream', 'counted_rows', 'counted_at'])
    .where('project_id', '=', project)
    .execute()
  return new Map(
    rows.flatMap(({ stream, counted_rows: count, counted_at: at }) =>
      count === null || at === null
        ? []
        : [[stream as StreamName, { rows: Number(count), countedAt: Date.parse(at) }] as const],
    ),
  )
}

/** After a sync: counts again where that is due. `changed`: the number of rows that it changed, by stream. */
export async function rememberRowCounts(
  context: ProjectDb,
  changed: ReadonlyMap<StreamName, number>,
  now: EpochMs,
): Promise<void> {
  const { db, project } = context
  const known = await readRowCounts(context)
  for (const [stream, rows] of changed) {
    if (!isCountDue(known.get(stream) ?? null, rows, now)) continue
    await db
      .updateTable('sync_streams')
      .set({ counted_rows: await countRows(context, stream), counted_at: toTimestamp(now) })
      .where((eb) => eb.and({ project_id: project, stream }))
      .execute()
  }
}

/** Deleted ones included. */
export async function countRows({ db, project }: ProjectDb, stream: StreamName): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(streamSpecs[stream].table)} where project_id = ${project}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
