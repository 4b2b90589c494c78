/** Candidate meanings of a rollup's number: a measure, how its values become one number, and where a day begins and ends. */
import { countByHour, countDifferent, countEvents, hoursByFrequency, type MeasureEvent } from './rollup-day-values.ts'
import type { RollupDays } from './rollup-days.ts'
import { type AnswerMeasure, complexityOf, describeMeasure, type RollupMeasure } from './rollup-measures.ts'
import { type DurationStatistic, durationStatistics, hourStatistics } from './rollup-statistics.ts'

const divisors = { seconds: 1, minutes: 60, hours: 3600, milliseconds: 0.001 } as const
export type Unit = keyof typeof divisors

export type Candidate = {
  /** In plain words; no two candidates share it. */
  readonly name: string
  readonly complexity: number
  /** By window; NaN = nothing to take the statistic of. Not null: there are a million values, which would be objects. */
  readonly values: Float64Array | Uint32Array
  /** What the values are divided by: candidates that differ only in their unit share them. */
  readonly divisor: number
}

/** Every definition by a measure. `events`: of all days, in any order. */
export function candidatesOf(
  measure: Exclude<RollupMeasure, AnswerMeasure>,
  events: Iterable<MeasureEvent>,
  days: RollupDays,
): Candidate[] {
  switch (measure.population) {
    case 'active conversations':
    case 'active visitors':
      return countCandidates(measure, countDifferent(events, days), days)
    case 'hours':
      return hourCandidates(measure, countByHour(events, days), days)
    default:
      return countCandidates(measure, countEvents(events, days), days)
  }
}

/** `counts`: by day. */
export function countCandidates(measure: RollupMeasure, counts: Candidate['values'], days: RollupDays): Candidate[] {
  return byBorder(measure, days, [{ name: describeMeasure(measure), values: counts, divisor: 1 }])
}

/** `counts`: as of `countByHour`. */
export function hourCandidates(measure: RollupMeasure, counts: Float64Array, days: RollupDays): Candidate[] {
  const ranked = days.days.map((_, day) => hoursByFrequency(counts, day))
  const name = describeMeasure(measure)
  const numbers = hourStatistics.map((statistic, rank) => ({
    name: `${statistic} ${name}`,
    values: Float64Array.from(ranked, (hours) => hours[rank] ?? Number.NaN),
    divisor: 1,
  }))
  return byBorder(measure, days, numbers)
}

/** `seconds`: by day, for each statistic. */
export function durationCandidates(
  measure: AnswerMeasure,
  seconds: Readonly<Record<DurationStatistic, Float64Array>>,
  days: RollupDays,
): Candidate[] {
  const name = describeMeasure(measure)
  const numbers = durationStatistics.flatMap((statistic) =>
    Object.entries(divisors).map(([unit, divisor]) => ({
      name: `${statistic} of the ${name}, in ${unit}`,
      values: seconds[statistic],
      divisor,
    })),
  )
  return byBorder(measure, days, numbers)
}

/** `values`: by day of all borders. */
type NamedValues = Pick<Candidate, 'name' | 'values' | 'divisor'>

function byBorder(measure: RollupMeasure, days: RollupDays, numbers: readonly NamedValues[]): Candidate[] {
  const windows = days.windows.length
  return days.borders.flatMap((border, index) =>
    numbers.map(({ name, values, divisor }) => ({
      name: border.name === '' ? name : `${name}, ${border.name}`,
      complexity: complexityOf(measure) + border.complexity,
      values: values.subarray(index * windows, (index + 1) * windows),
      divisor,
    })),
  )
}
