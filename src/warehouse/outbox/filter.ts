/** Which write-backs are meant, as a condition of SQL. */
import { type RawBuilder, sql } from 'kysely'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import { toLaneName } from '../../core/outbox/writeback-request.ts'

/** `status`: how a row's status is told. */
export function matchesFilter(
  { ids, batch, statuses: wanted, operations, target }: OutboxFilter,
  status: RawBuilder<unknown> = sql`status`,
): RawBuilder<unknown> {
  const conditions = [
    ...(ids === undefined ? [] : [ids.length === 0 ? sql`false` : sql`id in (${sql.join(ids)})`]),
    ...(batch === undefined ? [] : [sql`batch_id = ${batch}`]),
    ...(wanted === undefined ? [] : [wanted.length === 0 ? sql`false` : sql`${status} in (${sql.join(wanted)})`]),
    ...(operations === undefined ? [] : [sql`operation in (${sql.join(operations)})`]),
    ...(target === undefined ? [] : [sql`lane in (${toLaneName('conversation', target)}, ${toLaneName('visitor', target)})`]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}
