/** Events in the pieces of the days, so that the day of each border is some pieces in a row. */
import type { EpochSeconds } from '../time.ts'
import { type RollupDays, readingsWith } from './rollup-days.ts'

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

type Value = MeasureEvent['value']

/**
 * Events of one piece: those that all readings show as their values, with how often each, and the others as they are. Most
 * events have no objects of their own, so that they cost little.
 */
export type Piece = { readonly values: Value[]; readonly counts: number[]; readonly timed: MeasureEvent[] }

export function toPieces(events: Iterable<MeasureEvent>, days: RollupDays): Piece[] {
  const pieces = days.pieces.map((): Piece => ({ values: [], counts: [], timed: [] }))
  for (const event of events) {
    const number = days.pieceOf(event.at)
    const [piece, readings] = number === null ? [] : [pieces[number], days.pieces[number]]
    if (piece === undefined || readings === undefined) continue
    const shown = readingsWith(readings, event.at, event)
    if (shown === 'all') addValue(piece, event.value, event.count ?? 1)
    else if (shown === 'some') piece.timed.push(event)
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

/** A day of some border. */
export type DayOfPieces = { readonly first: number; readonly end: number; readonly readAt: EpochSeconds }

function isShown({ at, since = at, until }: MeasureEvent, readAt: EpochSeconds): boolean {
  return at <= readAt && since <= readAt && (until === undefined || readAt < until)
}

/** How many events a day has. */
export function createEventCounter(pieces: readonly Piece[]): (day: DayOfPieces) => number {
  const counts = pieces.map((piece) => piece.counts.reduce((sum, count) => sum + count, 0))
  return ({ first, end, readAt }) => {
    let total = 0
    for (let n = first; n < end; n++) {
      total += counts[n] ?? 0
      for (const event of pieces[n]?.timed ?? []) if (isShown(event, readAt)) total += event.count ?? 1
    }
    return total
  }
}

/** How many different values a day has. A large project has many of them on each of the days of all borders. */
export function createDifferentCounter(pieces: readonly Piece[]): (day: DayOfPieces) => number {
  const numbers = new Map<Value, number>()
  const numberOf = (value: Value) => {
    const known = numbers.get(value)
    if (known !== undefined) return known
    numbers.set(value, numbers.size)
    return numbers.size - 1
  }
  return createNumberCounter(
    pieces.map(({ values, timed }) => ({
      numbers: values.map(numberOf),
      timed: timed.map((event) => ({ ...event, value: numberOf(event.value) })),
    })),
  )
}

/** A piece whose values are the numbers from 0 on. */
export type NumberPiece = {
  readonly numbers: readonly number[]
  readonly timed: readonly (MeasureEvent & { readonly value: number })[]
}

export function createNumberCounter(pieces: readonly NumberPiece[]): (day: DayOfPieces) => number {
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
    for (let n = first; n < end; n++) {
      for (const number of pieces[n]?.numbers ?? []) add(number)
      for (const event of pieces[n]?.timed ?? []) if (isShown(event, readAt)) add(event.value)
    }
    return count
  }
}

/** Every value that a reading of the day shows, in any order, with how often. */
export function forEachValue(
  pieces: readonly Piece[],
  { first, end, readAt }: DayOfPieces,
  use: (value: number, count: number) => void,
): void {
  for (const { values, counts, timed } of pieces.slice(first, end)) {
    for (let n = 0; n < values.length; n++) use(Number(values[n]), counts[n] ?? 0)
    for (const event of timed) if (isShown(event, readAt)) use(Number(event.value), event.count ?? 1)
  }
}
