/** What changed in a mirror since its rows were last counted, by stream and day. Pure. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import { byDate, type DayDigest, type StreamDigest } from './day-digests.ts'

/**
 * `changed`: as many rows, and not the same ones. `more` and `fewer` say nothing about the other rows of the day: a digest
 * shows only that something is different.
 */
type DayState = 'same' | 'more' | 'fewer' | 'changed'

/** `before` and `now`: how many rows. */
export type DayChange = {
  readonly stream: StreamName
  readonly day: string | null
  readonly state: DayState
  readonly before: number
  readonly now: number
}

/** `days`: those that are not the same, in order. */
export type StreamChange = {
  readonly stream: StreamName
  readonly before: number
  readonly now: number
  readonly counts: Readonly<Record<DayState, number>>
  readonly days: readonly DayChange[]
}

/** Of the streams in `before`; one that is missing in `now` has no rows. */
export function compareDigests(before: readonly StreamDigest[], now: readonly StreamDigest[]): StreamChange[] {
  const current = new Map(now.map((digest) => [digest.stream, digest]))
  return before.map((counted) => compareStream(counted, current.get(counted.stream)))
}

function compareStream({ stream, rows, days: earlier }: StreamDigest, now: StreamDigest | undefined): StreamChange {
  const before = byDay(earlier)
  const later = byDay(now?.days ?? [])
  const days = [...new Set([...before.keys(), ...later.keys()])].toSorted(byDate)
  const all = days.map((day) => compareDay(stream, day, before.get(day), later.get(day)))
  const count = (state: DayState) => all.filter((change) => change.state === state).length
  return {
    stream,
    before: rows,
    now: now?.rows ?? 0,
    counts: { same: count('same'), more: count('more'), fewer: count('fewer'), changed: count('changed') },
    days: all.filter(({ state }) => state !== 'same'),
  }
}

function byDay(days: readonly DayDigest[]): ReadonlyMap<string | null, DayDigest> {
  return new Map(days.map((digest) => [digest.day, digest]))
}

function compareDay(stream: StreamName, day: string | null, before?: DayDigest, now?: DayDigest): DayChange {
  const [was, is] = [before?.rows ?? 0, now?.rows ?? 0]
  const sameCount = before?.digest === now?.digest ? 'same' : 'changed'
  return { stream, day, before: was, now: is, state: is > was ? 'more' : is < was ? 'fewer' : sameCount }
}

export function hasChanges(streams: readonly StreamChange[]): boolean {
  return streams.some(({ days }) => days.length > 0)
}
