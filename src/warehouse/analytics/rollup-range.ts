/** The time that days of the rollups cover, and the SQL that groups rows within it. */
import { type RawBuilder, sql } from 'kysely'
import type { RollupDays } from '../../core/analytics/rollup-days.ts'
import { type EpochSeconds, rfc3339 } from '../../core/time.ts'
import type { FactSource } from './fact-source.ts'

export type RollupSource = Pick<FactSource, 'db' | 'kind' | 'project' | 'settings' | 'calendar'>

/** `from`, `to`: as texts, to compare columns with. */
export type RollupRange = RollupSource & {
  readonly days: RollupDays
  readonly from: string
  readonly to: string
}

export function toRange(source: RollupSource, days: RollupDays): RollupRange {
  return { ...source, days, from: rfc3339(days.from), to: rfc3339(days.to) }
}

/** A time no later than `at` (a column with seconds since 1970) that is in the same days and the same hour of each zone. */
export function groupedTime({ kind, days }: RollupRange, at: string): RawBuilder<EpochSeconds> {
  const [column, step] = [sql.ref(at), sql.lit(days.step)]
  const least = sql.raw(kind === 'sqlite' ? 'min' : 'least')
  // Days begin with a step or with its second second.
  return sql`${column} - ${column} % ${step} + ${least}(${column} % ${step}, 1)`
}

/** A condition: the column's time is within the range. */
export function isWithin({ from, to }: Pick<RollupRange, 'from' | 'to'>, column: string): RawBuilder<unknown> {
  return sql`(${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${to})`
}
