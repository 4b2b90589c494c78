/** Which write-backs are meant, as a condition of SQL. */
import { type RawBuilder, sql } from 'kysely'
import type { Filter } from '../../core/outbox/desk.ts'
import { laneOf } from '../../core/outbox/wish.ts'

/** `status`: how a row's status is told. */
export function fits(
  { ids, batch, statuses: wanted, operations, target }: Filter,
  status: RawBuilder<unknown> = sql`status`,
): RawBuilder<unknown> {
  const conditions = [
    ...(ids === undefined ? [] : [ids.length === 0 ? sql`false` : sql`id in (${sql.join(ids)})`]),
    ...(batch === undefined ? [] : [sql`batch_id = ${batch}`]),
    ...(wanted === undefined ? [] : [wanted.length === 0 ? sql`false` : sql`${status} in (${sql.join(wanted)})`]),
    ...(operations === undefined ? [] : [sql`operation in (${sql.join(operations)})`]),
    ...(target === undefined ? [] : [sql`lane in (${laneOf('conversation', target)}, ${laneOf('visitor', target)})`]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}
