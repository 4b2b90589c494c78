/** Candidate meanings of a rollup's number: a measure, how its values become one number, and where a day begins and ends. */
import type { RollupDays } from './rollup-days.ts'
import { complexityOf, describeMeasure, type RollupMeasure } from './rollup-measures.ts'
import {
  createDifferentCounter,
  createEventCounter,
  type DayOfPieces,
  forEachValue,
  type MeasureEvent,
  type Piece,
  toPieces,
} from './rollup-pieces.ts'
import { byFrequency, durationStatistic, durationStatistics, hourStatistics } from './rollup-statistics.ts'

const divisors = { seconds: 1, minutes: 60, hours: 3600, milliseconds: 0.001 } as const
export type Unit = keyof typeof divisors

export type Candidate = {
  /** In plain words; no two candidates share it. */
  readonly name: string
  readonly complexity: number
  /** By window; null = nothing to take the statistic of. */
  readonly values: readonly (number | null)[]
}

/** Every definition by a measure. `events`: of all days, in any order. */
export function candidatesOf(measure: RollupMeasure, events: Iterable<MeasureEvent>, days: RollupDays): Candidate[] {
  return candidatesByBorder(measure, days, numbersOfDays(measure, toPieces(events, days)))
}

/** The same of a measure whose days are counted by `count`. */
export function candidatesByCount(
  measure: RollupMeasure,
  days: RollupDays,
  count: (day: DayOfPieces) => number,
): Candidate[] {
  const name = describeMeasure(measure)
  return candidatesByBorder(measure, days, (ofBorder) => [{ name, values: ofBorder.map(count) }])
}

type NamedValues = Pick<Candidate, 'name' | 'values'>
type NumbersOfDays = (days: readonly DayOfPieces[]) => NamedValues[]

function candidatesByBorder(measure: RollupMeasure, days: RollupDays, numbersOf: NumbersOfDays): Candidate[] {
  return days.borders.flatMap(({ border, ranges }) => {
    const ofBorder = ranges.map(([first, end], index) => ({ first, end, readAt: days.windows[index]?.readAt ?? 0 }))
    const complexity = complexityOf(measure) + border.complexity
    return numbersOf(ofBorder).map(({ name, values }) => ({
      name: border.name === '' ? name : `${name}, ${border.name}`,
      complexity,
      values,
    }))
  })
}

function numbersOfDays(measure: RollupMeasure, pieces: readonly Piece[]): NumbersOfDays {
  const name = describeMeasure(measure)
  switch (measure.population) {
    case 'active conversations':
    case 'active visitors': {
      const count = createDifferentCounter(pieces)
      return (days) => [{ name, values: days.map(count) }]
    }
    case 'answers':
      return (days) =>
        durationNumbers(
          name,
          days.map((day) => sortedValues(pieces, day)),
        )
    case 'hours':
      return (days) =>
        hourNumbers(
          name,
          days.map((day) => countsByHour(pieces, day)),
        )
    default: {
      const count = createEventCounter(pieces)
      return (days) => [{ name, values: days.map(count) }]
    }
  }
}

function sortedValues(pieces: readonly Piece[], day: DayOfPieces): Float64Array {
  const all: number[] = []
  forEachValue(pieces, day, (value, count) => {
    for (let n = 0; n < count; n++) all.push(value)
  })
  return Float64Array.from(all).sort()
}

function countsByHour(pieces: readonly Piece[], day: DayOfPieces): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  forEachValue(pieces, day, (hour, count) => counts.set(hour, (counts.get(hour) ?? 0) + count))
  return counts
}

function durationNumbers(counted: string, days: readonly Float64Array[]): NamedValues[] {
  return durationStatistics.flatMap((statistic) => {
    const seconds = days.map((sorted) => durationStatistic(sorted, statistic))
    return Object.entries(divisors).map(([unit, divisor]) => ({
      name: `${statistic} of the ${counted}, in ${unit}`,
      values: divisor === 1 ? seconds : seconds.map((value) => (value === null ? null : value / divisor)),
    }))
  })
}

function hourNumbers(counted: string, days: readonly ReadonlyMap<number, number>[]): NamedValues[] {
  const ranked = days.map(byFrequency)
  return hourStatistics.map((statistic, rank) => ({
    name: `${statistic} ${counted}`,
    values: ranked.map((hours) => hours[rank] ?? null),
  }))
}
