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
  const countDifferent = createDifferentCounter(pieces)
  return days.borders.flatMap(({ border, ranges }) => {
    const ofDays = ranges.map(([first, end], index) => ({ first, end, readAt: days.windows[index]?.readAt ?? 0 }))
    const complexity = complexityOf(measure) + border.complexity
    const numbers = countsEachOnce(measure)
      ? [{ name: describeMeasure(measure), values: ofDays.map(countDifferent) }]
      : numbersOf(
          measure,
          ofDays.map(({ first, end, readAt }) => eventsOfDay(pieces.slice(first, end), readAt)),
        )
    return numbers.map(({ name, values }) => ({
      name: border.name === '' ? name : `${name}, ${border.name}`,
      complexity,
      values,
    }))
  })
}

function countsEachOnce({ population }: RollupMeasure): boolean {
  return population === 'active conversations' || population === 'active visitors'
}

/** Events of one piece. Those that all readings show and that have the same value are one. */
type Piece = { readonly counts: Map<MeasureEvent['value'], number>; readonly timed: MeasureEvent[] }

function toPieces(events: Iterable<MeasureEvent>, days: RollupDays): Piece[] {
  const pieces = days.pieces.map((): Piece => ({ counts: new Map(), timed: [] }))
  for (const event of events) {
    const number = days.pieceOf(event.at)
    const [piece, reads] = number === null ? [] : [pieces[number], days.pieces[number]]
    if (piece === undefined || reads === undefined) continue
    const { at, value, count = 1, until = Number.POSITIVE_INFINITY } = event
    // A zone's day may go on when the day that was asked for is over: a reading knows nothing of later times.
    const since = Math.max(at, event.since ?? at)
    if (since > reads.lastReadAt || until <= reads.firstReadAt) continue
    if (since <= reads.firstReadAt && until > reads.lastReadAt)
      piece.counts.set(value, (piece.counts.get(value) ?? 0) + count)
    else piece.timed.push({ ...event, since })
  }
  return pieces
}

type DayOfPieces = { readonly first: number; readonly end: number; readonly readAt: EpochSeconds }

/** How many different values a day has. A large project has many of them on each of the days of all borders. */
function createDifferentCounter(pieces: readonly Piece[]): (day: DayOfPieces) => number {
  const numbers = new Map<MeasureEvent['value'], number>()
  const numberOf = (value: MeasureEvent['value']) => {
    const number = numbers.get(value) ?? numbers.size
    numbers.set(value, number)
    return number
  }
  const numbersOfPieces = pieces.map(({ counts }) => [...counts.keys()].map(numberOf))
  /** By number: the last call that counted it. */
  const countedBy: number[] = []
  let call = 0
  return ({ first, end, readAt }) => {
    call++
    let count = 0
    const add = (number: number) => {
      if (countedBy[number] === call) return
      countedBy[number] = call
      count++
    }
    for (let piece = first; piece < end; piece++) {
      for (const number of numbersOfPieces[piece] ?? []) add(number)
      for (const event of pieces[piece]?.timed ?? []) if (isShown(event, readAt)) add(numberOf(event.value))
    }
    return count
  }
}

function isShown({ since, until }: MeasureEvent, readAt: EpochSeconds): boolean {
  return (since === undefined || since <= readAt) && (until === undefined || readAt < until)
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
    for (const event of piece.timed) if (isShown(event, readAt)) add(event.value, event.count ?? 1)
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
