/** Candidate meanings of a rollup's number: a measure, how its values become one number, and where a day begins and ends. */
import type { EpochSeconds } from '../time.ts'
import type { RollupDays } from './rollup-days.ts'
import { complexityOf, describeMeasure, type RollupMeasure } from './rollup-measures.ts'
import { byFrequency, durationStatistic, durationStatistics, hourStatistics } from './rollup-statistics.ts'

/** An occurrence of what a measure counts. */
export type MeasureEvent = {
  readonly at: EpochSeconds
  /** A duration, an hour, or an id where each counts once. */
  readonly value: number | string
  /** It stands for that many equal ones; 1 if missing. */
  readonly count?: number
  /** It counts only in what was read then or later: an answer of Tuesday is in no rollup that was read on Monday. */
  readonly since?: EpochSeconds | undefined
  /** It counts only in what was read before: a message is the last one until the next one. */
  readonly until?: EpochSeconds | undefined
}

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
  const pieces = toPieces(events, days)
  return days.borders.flatMap(({ border, ranges }) => {
    const ofDays = ranges.map(([first, end], index) =>
      eventsOfDay(pieces.slice(first, end), days.windows[index]?.readAt ?? 0),
    )
    const complexity = complexityOf(measure) + border.complexity
    return numbersOf(measure, ofDays).map(({ name, values }) => ({
      name: border.name === '' ? name : `${name}, ${border.name}`,
      complexity,
      values,
    }))
  })
}

/** Events of one piece. Those that all readings show and that have the same value are one. */
type Piece = { readonly counts: Map<MeasureEvent['value'], number>; readonly timed: MeasureEvent[] }

function toPieces(events: Iterable<MeasureEvent>, days: RollupDays): Piece[] {
  const pieces = days.pieces.map((): Piece => ({ counts: new Map(), timed: [] }))
  for (const event of events) {
    const number = days.pieceOf(event.at)
    const [piece, reads] = number === null ? [] : [pieces[number], days.pieces[number]]
    if (piece === undefined || reads === undefined) continue
    const { value, count = 1, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = event
    if (since > reads.lastReadAt || until <= reads.firstReadAt) continue
    if (since <= reads.firstReadAt && until > reads.lastReadAt)
      piece.counts.set(value, (piece.counts.get(value) ?? 0) + count)
    else piece.timed.push(event)
  }
  return pieces
}

type DayValues = ReadonlyMap<MeasureEvent['value'], number>

/** How often the day has each value, as a reading at that time shows it. */
function eventsOfDay(pieces: readonly Piece[], readAt: EpochSeconds): DayValues {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined && only.timed.length === 0) return only.counts
  const counts = new Map<MeasureEvent['value'], number>()
  const add = (value: MeasureEvent['value'], count: number) => counts.set(value, (counts.get(value) ?? 0) + count)
  for (const piece of pieces) {
    for (const [value, count] of piece.counts) add(value, count)
    for (const { value, count = 1, since, until } of piece.timed)
      if ((since === undefined || since <= readAt) && (until === undefined || readAt < until)) add(value, count)
  }
  return counts
}

type NamedValues = Pick<Candidate, 'name' | 'values'>

function numbersOf(measure: RollupMeasure, days: readonly DayValues[]): NamedValues[] {
  const counted = describeMeasure(measure)
  switch (measure.population) {
    case 'answers':
      return durationNumbers(counted, days.map(sortedValues))
    case 'hours':
      return hourNumbers(counted, days)
    case 'active conversations':
    case 'active visitors':
      return [{ name: counted, values: days.map(({ size }) => size) }]
    default:
      return [{ name: counted, values: days.map((values) => [...values.values()].reduce((sum, n) => sum + n, 0)) }]
  }
}

function sortedValues(values: DayValues): Float64Array {
  const all: number[] = []
  for (const [value, count] of values) for (let i = 0; i < count; i++) all.push(Number(value))
  return Float64Array.from(all).sort()
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

function hourNumbers(counted: string, days: readonly DayValues[]): NamedValues[] {
  const ranked = days.map((values) => byFrequency(values as ReadonlyMap<number, number>))
  return hourStatistics.map((statistic, rank) => ({
    name: `${statistic} ${counted}`,
    values: ranked.map((hours) => hours[rank] ?? null),
  }))
}
