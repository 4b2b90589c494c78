/** The time that all days of the rollups cover, and the SQL that groups rows within it. */
import { type RawBuilder, sql } from 'kysely'
import type { RollupDays } from '../../core/analytics/rollup-days.ts'
import { daySeconds, type EpochSeconds, minuteSeconds, rfc3339 } from '../../core/time.ts'
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

const quarterSeconds = 15 * minuteSeconds

/** A time no later than `at` (a column with seconds since 1970) that is in the same days, whatever their borders. */
export function groupedTime({ days }: RollupRange, at: string): RawBuilder<EpochSeconds> {
  const column = sql.ref(at)
  const second = sql`${column} % ${sql.lit(daySeconds)}`
  const cuts = days.cuts.toReversed().map((cut) => sql`when ${second} >= ${sql.lit(cut)} then ${sql.lit(cut)}`)
  // Before the first bound of a day is the last piece of the day before.
  return sql`${column} - ${second} + case ${sql.join(cuts, sql` `)} else 0 end`
}

/** The same, within a quarter of an hour: the hours of all zones begin with one. */
export function groupedQuarter(range: RollupRange, at: string): RawBuilder<EpochSeconds> {
  const quarter = sql`${sql.ref(at)} - ${sql.ref(at)} % ${sql.lit(quarterSeconds)}`
  const piece = groupedTime(range, at)
  return sql`case when ${piece} > ${quarter} then ${piece} else ${quarter} end`
}
