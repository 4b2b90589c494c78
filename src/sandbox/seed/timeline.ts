/** When things happened: rows spread over the past in the order of their numbers, and spells of many in one second. Pure. */

import type { EpochMs, Ms } from '../../core/time.ts'
import { type Random, type Purpose, purposes, toUnitInterval } from './random.ts'

export type Timeline = {
  /** When row `index` began. Never decreases with the index. */
  readonly startAt: (index: number) => EpochMs
  /** Whether the row is one of those that all happened in one second. */
  readonly inStorm: (index: number) => boolean
  /** `span` after the row began, but before the world ends; a stormy row ends in the second in which it began. */
  readonly endAt: (index: number, span: Ms) => EpochMs
}

export type TimelineOptions = { readonly from: EpochMs; readonly to: EpochMs; readonly count: number; readonly storm: number }

export function createTimeline(stretch: TimelineOptions, random: Random, purpose: Purpose): Timeline {
  const { from, to, count } = stretch
  const step = (to - from) / Math.max(1, count)
  const size = Math.min(stretch.storm, count)
  const first = Math.floor((count - size) / 2)
  const spread = (index: number) => Math.floor(from + (index + toUnitInterval(random(purposes.time, purpose, index))) * step)
  const inStorm = (index: number) => index >= first && index < first + size
  const stormSecond = Math.ceil(spread(first) / 1000) * 1000
  // Fractions grow with the index, so that the order of time stays the order of numbers.
  const startOf = (index: number) => {
    if (!inStorm(index)) return size > 0 && index >= first ? Math.max(spread(index), stormSecond + 999) : spread(index)
    return stormSecond + Math.floor(((index - first) / size) * 999)
  }
  // Cut at the end of the world they would all end in its last second: a storm that nobody asked for.
  const within = (index: number, span: Ms) => {
    const room = to - startOf(index)
    return span <= room ? span : room * toUnitInterval(random(purposes.time, purpose + 100, index))
  }
  return {
    startAt: startOf,
    inStorm,
    endAt: (index, span) => startOf(index) + (inStorm(index) ? 0 : Math.floor(within(index, span))),
  }
}
