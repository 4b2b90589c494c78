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
  const numbersOfDays = createNumbers(measure, toPieces(events, days))
  return days.borders.flatMap(({ border, ranges }) => {
    const ofDays = ranges.map(([first, end], index) => ({ first, end, readAt: days.windows[index]?.readAt ?? 0 }))
    const complexity = complexityOf(measure) + border.complexity
    return numbersOfDays(ofDays).map(({ name, values }) => ({
      name: border.name === '' ? name : `${name}, ${border.name}`,
      complexity,
      values,
    }))
  })
}

type NamedValues = Pick<Candidate, 'name' | 'values'>
/** A large project has many events on each of the days of all borders. */
type NumbersOfDays = (days: readonly DayOfPieces[]) => NamedValues[]

function createNumbers(measure: RollupMeasure, pieces: readonly Piece[]): NumbersOfDays {
  const name = describeMeasure(measure)
  switch (measure.population) {
    case 'active conversations':
    case 'active visitors': {
      const countDifferent = createDifferentCounter(pieces)
      return (days) => [{ name, values: days.map(countDifferent) }]
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
      const totals = pieces.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0))
      return (days) => [{ name, values: days.map((day) => totalOf(pieces, totals, day)) }]
    }
  }
}

type Value = MeasureEvent['value']

/**
 * Events of one piece: those that all readings show as their values, with how often each, and the others as they are. Many
 * events have no objects of their own, so that they cost little.
 */
type Piece = { readonly values: Value[]; readonly counts: number[]; readonly timed: MeasureEvent[] }

function toPieces(events: Iterable<MeasureEvent>, days: RollupDays): Piece[] {
  const pieces = days.pieces.map((): Piece => ({ values: [], counts: [], timed: [] }))
  for (const event of events) {
    const number = days.pieceOf(event.at)
    if (number === null) continue
    const [piece, reads] = [pieces[number], days.pieces[number]]
    if (piece === undefined || reads === undefined) continue
    const { at, value, count = 1, until = Number.POSITIVE_INFINITY } = event
    // A zone's day may go on when the day that was asked for is over: a reading knows nothing of later times.
    const since = Math.max(at, event.since ?? at)
    if (since > reads.lastReadAt || until <= reads.firstReadAt) continue
    if (since <= reads.firstReadAt && until > reads.lastReadAt) addValue(piece, value, count)
    else piece.timed.push({ ...event, since })
  }
  return pieces
}

function addValue({ values, counts }: Piece, value: Value, count: number): void {
  const last = values.length - 1
  if (values[last] === value) counts[last] = (counts[last] ?? 0) + count
  else {
    values.push(value)
    counts.push(count)
  }
}

type DayOfPieces = { readonly first: number; readonly end: number; readonly readAt: EpochSeconds }

function totalOf(pieces: readonly Piece[], totals: readonly number[], { first, end, readAt }: DayOfPieces): number {
  let total = 0
  for (let piece = first; piece < end; piece++) {
    total += totals[piece] ?? 0
    for (const event of pieces[piece]?.timed ?? []) if (isShown(event, readAt)) total += event.count ?? 1
  }
  return total
}

/** How many different values a day has. */
function createDifferentCounter(pieces: readonly Piece[]): (day: DayOfPieces) => number {
  const numbers = new Map<Value, number>()
  const numberOf = (value: Value) => {
    const known = numbers.get(value)
    if (known !== undefined) return known
    numbers.set(value, numbers.size)
    return numbers.size - 1
  }
  const numbersOfPieces = pieces.map(({ values }) => values.map(numberOf))
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

function sortedValues(pieces: readonly Piece[], day: DayOfPieces): Float64Array {
  const all: number[] = []
  forEachValue(pieces, day, (value, count) => {
    for (let n = 0; n < count; n++) all.push(Number(value))
  })
  return Float64Array.from(all).sort()
}

function countsByHour(pieces: readonly Piece[], day: DayOfPieces): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  forEachValue(pieces, day, (value, count) => counts.set(Number(value), (counts.get(Number(value)) ?? 0) + count))
  return counts
}

/** As a reading at that time shows them. */
function forEachValue(
  pieces: readonly Piece[],
  { first, end, readAt }: DayOfPieces,
  use: (value: Value, count: number) => void,
): void {
  for (const { values, counts, timed } of pieces.slice(first, end)) {
    for (let n = 0; n < values.length; n++) use(values[n] ?? 0, counts[n] ?? 0)
    for (const event of timed) if (isShown(event, readAt)) use(event.value, event.count ?? 1)
  }
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
