/** Which write-backs a person selects, in SQL. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import { targetKinds, toLaneName } from '../../core/outbox/writeback-request.ts'
import { allOf, inList } from '../database/dialect.ts'
import { isStoppedSql } from './open-decisions.ts'

/** An SQL condition for the filter. `status`: the SQL expression to compare the status with. */
export function filterSql(
  kind: DatabaseKind,
  { ids, batch, statuses, operations, target, approvedBy, isResumable }: OutboxFilter,
  status: RawBuilder<unknown> = sql`status`,
): RawBuilder<unknown> {
  const oneOf = (column: RawBuilder<unknown>, values: readonly string[] | undefined) => {
    if (values === undefined) return null
    return values.length === 0 ? sql`false` : sql`${column} in (${sql.join(values)})`
  }
  return allOf([
    ids === undefined || ids.length <= 100 ? oneOf(sql`id`, ids) : sql`id ${inList(kind, ids)}`,
    batch === undefined ? null : sql`batch_id = ${batch}`,
    approvedBy === undefined ? null : sql`approved_by = ${approvedBy}`,
    // A stop reaches its rows one after another, so some may be queued still.
    isResumable === undefined ? null : sql`(status = 'queued' or ${isStoppedSql})`,
    oneOf(status, statuses),
    oneOf(sql`operation`, operations),
    oneOf(sql`lane`, target === undefined ? undefined : targetKinds.map((kind) => toLaneName(kind, target))),
  ])
}
