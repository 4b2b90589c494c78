/** Counts visitors and calls as the service's rollups may count them. It documents none of their fields. */
import { sql } from 'kysely'
import type { RollupCounts } from '../../core/analytics/rollup-events.ts'
import type { TimeColumns } from '../../core/analytics/rollup-vocabulary.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { groupedTime, type RollupRange } from './rollup-range.ts'
import { epochSeconds } from './sql-time.ts'

export type UndocumentedColumns = TimeColumns & {
  /** The column of calls that says how they ended; null = none is known. */
  readonly callStatus: string | null
}

const statusNames = ['outcome', 'status', 'result', 'state']
/** A hostile service may show any number of times. */
const maxTimeColumns = 8

/** By their discovered fields. */
export async function findUndocumentedColumns({ db, project }: ProjectDb): Promise<UndocumentedColumns> {
  const fields = await db
    .selectFrom('discovered_fields')
    .select(['stream', 'type', 'column_name as column'])
    .where('project_id', '=', project)
    .where('stream', 'in', ['visitors', 'calls'])
    .where('type', 'in', ['timestamp', 'text'])
    .where('column_name', 'is not', null)
    .orderBy('path')
    .execute()
  const timesOf = (stream: string) =>
    fields.flatMap((field) => (field.stream === stream && field.type === 'timestamp' ? [field.column ?? ''] : []))
  const statuses = statusNames.filter((name) => fields.some((f) => f.stream === 'calls' && f.column === name))
  return {
    visitorTimes: timesOf('visitors').slice(0, maxTimeColumns),
    callTimes: ['occurred_at', ...timesOf('calls')].slice(0, maxTimeColumns),
    callStatus: statuses[0] ?? null,
  }
}

export async function readVisitors(
  range: RollupRange,
  columns: UndocumentedColumns['visitorTimes'],
): Promise<RollupCounts['visitors']> {
  const { db, kind, project, from, to } = range
  const found: RollupCounts['visitors'][number][] = []
  for (const by of columns) {
    const { rows } = await sql<{ at: number; count: number }>`
      select at, count(*) as count from (
        select ${groupedTime(range, 'at')} as at from (
          select ${epochSeconds(kind, by)} as at from visitors
          where project_id = ${project} and ${sql.ref(by)} >= ${from} and ${sql.ref(by)} < ${to} and deleted_at is null
        ) as timed
      ) as grouped group by at`.execute(db)
    found.push(...rows.map(({ at, count }) => ({ at, by, count: Number(count) })))
  }
  return found
}

export async function readCalls(
  range: RollupRange,
  { callTimes, callStatus }: UndocumentedColumns,
): Promise<RollupCounts['calls']> {
  const { db, kind, project, from, to } = range
  const status = callStatus === null ? sql`null` : sql.ref(`c.${callStatus}`)
  const found: RollupCounts['calls'][number][] = []
  for (const by of callTimes) {
    const time = sql.ref(`c.${by}`)
    const { rows } = await sql<{ at: number; status: string | null; hasRecording: unknown; count: number }>`
      select at, status, "hasRecording", count(*) as count from (
        select ${groupedTime(range, 'at')} as at, status, "hasRecording" from (
          select ${epochSeconds(kind, `c.${by}`)} as at, ${status} as status,
            coalesce(r.has_recording, false) as "hasRecording"
          from calls c left join call_recordings r
            on r.project_id = c.project_id and r.call_id = c.id and r.deleted_at is null
          where c.project_id = ${project} and ${time} >= ${from} and ${time} < ${to} and c.deleted_at is null
        ) as timed
      ) as grouped group by at, status, "hasRecording"`.execute(db)
    const toRow = (row: (typeof rows)[number]) => ({ ...row, by, hasRecording: Boolean(row.hasRecording) })
    found.push(...rows.map((row) => ({ ...toRow(row), count: Number(row.count) })))
  }
  return found
}
