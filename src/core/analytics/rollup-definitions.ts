/** Candidate meanings of a rollup's number: a measure, how its values become one number, and where a day begins and ends. */
import { daySeconds, type EpochSeconds, hourSeconds } from '../time.ts'
import { complexityOf, describeMeasure, type RollupMeasure } from './rollup-measures.ts'
import { computeStatistic, durationStatistics, hourStatistics, type Statistic } from './rollup-statistics.ts'
import { createTimeZone, localDayOf, startOfDay } from './time-zone.ts'

/** An occurrence of what a measure counts. */
export type MeasureEvent = {
  readonly at: EpochSeconds
  /** A duration, a local hour, or an id where each counts once. */
  readonly value: number | string
  /** It counts only in what was read before: a message is the last one until the next one. */
  readonly until?: EpochSeconds
}

/** A day of the rollups: a window as the service was asked for it. */
export type RollupWindow = { readonly from: EpochSeconds; readonly to: EpochSeconds; readonly readAt: EpochSeconds }

/** What the service may make of a window. */
export type Border = {
  /** '' = as asked. */
  readonly name: string
  /** Of two definitions that fit equally, the lower one is the more likely. */
  readonly complexity: number
  readonly of: (window: RollupWindow) => Pick<RollupWindow, 'from' | 'to'>
}

/** `zones`: whose days the service may count. */
export function rollupBorders(zones: readonly string[]): Border[] {
  const shifted = (from: number, to: number) => (window: RollupWindow) => ({
    from: window.from + from,
    to: window.to + to,
  })
  return [
    { name: '', complexity: 0, of: (window) => window },
    ...zones.map((zone) => ({ name: `in the day of ${zone}`, complexity: zone === 'UTC' ? 1 : 2, of: dayOf(zone) })),
    { name: 'with the last second', complexity: 2, of: shifted(0, 1) },
    { name: 'without the first second', complexity: 3, of: shifted(1, 1) },
    { name: 'an hour later', complexity: 3, of: shifted(hourSeconds, hourSeconds) },
  ]
}

/** The zone's day of the date that has most of the window in UTC. */
function dayOf(name: string): Border['of'] {
  const zone = createTimeZone(name)
  const utc = createTimeZone('UTC')
  return ({ from }) => {
    const day = localDayOf(utc, from + daySeconds / 2)
    return { from: startOfDay(zone, day), to: startOfDay(zone, day + 1) }
  }
}

const divisors = { seconds: 1, minutes: 60, hours: 3600, milliseconds: 0.001 } as const
export type Unit = keyof typeof divisors

export type Candidate = {
  /** In plain words; no two candidates share it. */
  readonly name: string
  readonly complexity: number
  readonly measure: RollupMeasure
  /** By window; null = nothing to take the statistic of. */
  readonly values: readonly (number | null)[]
}

/** Every definition by a measure. `events`: in the order of time, for all windows and a day around them. */
export function candidatesOf(
  measure: RollupMeasure,
  events: readonly MeasureEvent[],
  windows: readonly RollupWindow[],
  borders: readonly Border[],
): Candidate[] {
  return borders.flatMap((border) => {
    const groups = windows.map((window) => valuesWithin(events, border.of(window), window.readAt))
    return statisticsOf(measure).flatMap((statistic) => {
      const values = groups.map((group) => computeStatistic(group, statistic))
      return unitsOf(measure).map((unit) => ({
        name: describeDefinition({ measure, statistic, unit, border }),
        complexity: complexityOf(measure) + border.complexity,
        measure,
        values: unit === null ? values : values.map((value) => (value === null ? null : value / divisors[unit])),
      }))
    })
  })
}

type Definition = {
  readonly measure: RollupMeasure
  readonly statistic: Statistic
  readonly unit: Unit | null
  readonly border: Border
}

function describeDefinition({ measure, statistic, unit, border }: Definition): string {
  const counted = describeMeasure(measure)
  const number = unit === null ? counted : `${statistic} of the ${counted}, in ${unit}`
  const named = measure.population === 'hours' ? `${statistic} ${counted}` : number
  return border.name === '' ? named : `${named}, ${border.name}`
}

function statisticsOf({ population }: RollupMeasure): readonly Statistic[] {
  if (population === 'answers') return durationStatistics
  if (population === 'hours') return hourStatistics
  return population.startsWith('active') ? ['count of different ones'] : ['count']
}

function unitsOf({ population }: RollupMeasure): readonly (Unit | null)[] {
  return population === 'answers' ? (Object.keys(divisors) as Unit[]) : [null]
}

function valuesWithin(
  events: readonly MeasureEvent[],
  { from, to }: Pick<RollupWindow, 'from' | 'to'>,
  readAt: EpochSeconds,
): MeasureEvent['value'][] {
  return events
    .slice(firstAtOrAfter(events, from), firstAtOrAfter(events, to))
    .filter(({ until }) => until === undefined || readAt < until)
    .map(({ value }) => value)
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
