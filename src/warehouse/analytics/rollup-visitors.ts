/** Reads which visitors did what on the days of the rollups. */
import { sql } from 'kysely'
import type { MeasureEvent } from '../../core/analytics/rollup-day-values.ts'
import type { ActiveVisitors } from '../../core/analytics/rollup-measures.ts'
import { groupedTime, isWithin, type RollupRange } from './rollup-range.ts'
import { epochSeconds } from './sql-time.ts'

/** `count`: how many rows `read` reads at most. */
type VisitorReads = Readonly<
  Record<
    ActiveVisitors['with'],
    {
      readonly count: (range: RollupRange) => Promise<number>
      readonly read: (range: RollupRange) => Promise<MeasureEvent[]>
    }
  >
>

/** The value of an event is the visitor. */
export const visitorReads: VisitorReads = {
  activity: {
    count: async (range) => countRows(range, 'visitor_activity', 'occurred_at'),
    read: async (range) => {
      const { db, kind, project } = range
      const { rows } = await sql<MeasureEvent>`
        select distinct ${groupedTime(range, 'at')} as at, value from (
          select visitor_id as value, ${epochSeconds(kind, 'occurred_at')} as at from visitor_activity
          where project_id = ${project} and ${isWithin(range, 'occurred_at')} and deleted_at is null
        ) as timed`.execute(db)
      return rows
    },
  },
  'a conversation created': {
    count: async (range) => countRows(range, 'conversations', 'created_at'),
    read: async (range) => {
      const { db, kind, project } = range
      const { rows } = await sql<{ at: number; value: string; deletedAt: number | null }>`
        select ${epochSeconds(kind, 'created_at')} as at, visitor_id as value,
          ${epochSeconds(kind, 'deleted_at')} as "deletedAt" from conversations
        where project_id = ${project} and ${isWithin(range, 'created_at')} and visitor_id is not null`.execute(db)
      return rows.map(({ at, value, deletedAt }) => ({ at, value, until: deletedAt ?? undefined }))
    },
  },
}

async function countRows(range: RollupRange, table: string, column: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)}
    where project_id = ${range.project} and ${isWithin(range, column)}`.execute(range.db)
  return Number(rows[0]?.count ?? 0)
}
