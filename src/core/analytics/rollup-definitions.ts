/** Candidate meanings of a rollup's number: a measure, how its values become one number, and where a day begins and ends. */
import { daySeconds, type EpochSeconds, hourSeconds } from '../time.ts'
import { complexityOf, describeMeasure, type RollupMeasure } from './rollup-measures.ts'

/** An occurrence of what a measure counts: a duration, or an id if the measure counts each only once. */
export type MeasureEvent = { readonly at: EpochSeconds; readonly value: number | string }

const durationStatistics = [
  'median',
  'lower median',
  'mean',
  '90th percentile',
  'interpolated 90th percentile',
  '95th percentile',
  'maximum',
] as const
export type Statistic = 'count' | 'count of different ones' | (typeof durationStatistics)[number]

const divisors = { seconds: 1, minutes: 60, hours: 3600, milliseconds: 0.001 } as const
export type Unit = keyof typeof divisors

/** A day of the rollups: a window as the service was asked for it. */
export type RollupWindow = { readonly from: EpochSeconds; readonly to: EpochSeconds }

/** What the service may make of a window, by its name. `added`: how much less likely it is than the plain one. */
const borders = {
  '': { added: 0, of: (window) => window },
  'in the UTC day': { added: 1, of: utcDay },
  'with the last second': { added: 2, of: ({ from, to }) => ({ from, to: to + 1 }) },
  'without the first second': { added: 3, of: ({ from, to }) => ({ from: from + 1, to: to + 1 }) },
  'an hour later': { added: 3, of: ({ from, to }) => ({ from: from + hourSeconds, to: to + hourSeconds }) },
} as const satisfies Record<string, { added: number; of: (window: RollupWindow) => RollupWindow }>
export type Border = keyof typeof borders

/** Most of a local day lies in the UTC day of the same date. */
function utcDay({ from }: RollupWindow): RollupWindow {
  const start = Math.floor((from + daySeconds / 2) / daySeconds) * daySeconds
  return { from: start, to: start + daySeconds }
}

export type RollupDefinition = {
  readonly measure: RollupMeasure
  readonly statistic: Statistic
  readonly unit: Unit | null
  readonly border: Border
}

export type Candidate = {
  /** In plain words. */
  readonly name: string
  readonly complexity: number
  readonly definition: RollupDefinition
  /** By window; null = nothing to take the statistic of. */
  readonly values: readonly (number | null)[]
}

/** Every definition of a measure with its values. `events`: in the order of time, for all windows and a day around them. */
export function candidatesOf(
  measure: RollupMeasure,
  events: readonly MeasureEvent[],
  windows: readonly RollupWindow[],
): Candidate[] {
  return Object.entries(borders).flatMap(([border, { added, of }]) => {
    const groups = windows.map((window) => eventsWithin(events, of(window)))
    return statisticsOf(measure).flatMap((statistic) => {
      const values = groups.map((group) => statisticOf(group, statistic))
      return unitsOf(measure).map((unit): Candidate => {
        const definition: RollupDefinition = { measure, statistic, unit, border: border as Border }
        const complexity = complexityOf(measure) + added
        const scaled = unit === null ? values : values.map((value) => (value === null ? null : value / divisors[unit]))
        return { name: describeDefinition(definition), complexity, definition, values: scaled }
      })
    })
  })
}

export function describeDefinition({ measure, statistic, unit, border }: RollupDefinition): string {
  const counted = describeMeasure(measure)
  const number = unit === null ? counted : `${statistic} of the ${counted}, in ${unit}`
  return border === '' ? number : `${number}, ${border}`
}

function statisticsOf({ population }: RollupMeasure): readonly Statistic[] {
  if (population === 'answers') return durationStatistics
  return population.startsWith('active') ? ['count of different ones'] : ['count']
}

function unitsOf({ population }: RollupMeasure): readonly (Unit | null)[] {
  return population === 'answers' ? (Object.keys(divisors) as Unit[]) : [null]
}

function eventsWithin(events: readonly MeasureEvent[], { from, to }: RollupWindow): readonly MeasureEvent[] {
  return events.slice(firstAtOrAfter(events, from), firstAtOrAfter(events, to))
}

function firstAtOrAfter(events: readonly MeasureEvent[], time: EpochSeconds): number {
  let [low, high] = [0, events.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((events[middle]?.at ?? time) < time) low = middle + 1
    else high = middle
  }
  return low
}

function statisticOf(events: readonly MeasureEvent[], statistic: Statistic): number | null {
  if (statistic === 'count') return events.length
  if (statistic === 'count of different ones') return new Set(events.map(({ value }) => value)).size
  const durations = events.map(({ value }) => Number(value)).sort((a, b) => a - b)
  if (durations.length === 0) return null
  return durationStatistic(durations, statistic)
}

function durationStatistic(sorted: readonly number[], statistic: Exclude<Statistic, `count${string}`>): number | null {
  switch (statistic) {
    case 'median':
      return interpolated(sorted, 0.5)
    case 'lower median':
      return smallestCovering(sorted, 0.5)
    case 'mean':
      return sorted.reduce((sum, value) => sum + value, 0) / sorted.length
    case '90th percentile':
      return smallestCovering(sorted, 0.9)
    case 'interpolated 90th percentile':
      return interpolated(sorted, 0.9)
    case '95th percentile':
      return smallestCovering(sorted, 0.95)
    case 'maximum':
      return sorted.at(-1) ?? null
  }
}

/** The smallest value that at least this share of all values does not exceed. */
function smallestCovering(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? null
}

function interpolated(sorted: readonly number[], share: number): number | null {
  const position = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
  return below === undefined || above === undefined ? null : below + (position - Math.floor(position)) * (above - below)
}
