/** Times of rows: spread over the covered days in order of their indexes, with storms of many in one second. Pure. */

import type { EpochMs, Ms } from '../../core/time.ts'
import { type Purpose, purposes, type Random, toUnitInterval } from './random.ts'

export type Timeline = ReturnType<typeof createTimeline>

type TimelineOptions = Readonly<Record<'from' | 'to', EpochMs> & Record<'count' | 'storm', number>> & {
  /** More rows begin in the first half of each week than in the second. */
  readonly isWeekly?: boolean
}

const weekMs = 7 * 86_400_000

export function createTimeline(options: TimelineOptions, random: Random, purpose: Purpose) {
  const { from, to, count } = options
  const size = Math.min(options.storm, count)
  const first = Math.floor((count - size) / 2)
  const timeOf = options.isWeekly ? weeklyTime : (share: number) => share
  const spread = (index: number) => {
    const share = (index + toUnitInterval(random(purposes.time, purpose, index))) / Math.max(1, count)
    return Math.floor(from + timeOf(share, (to - from) / weekMs) * (to - from))
  }
  /** Whether the row is one of those that share one second. */
  const inStorm = (index: number) => index >= first && index < first + size
  const stormSecond = Math.ceil(spread(first) / 1000) * 1000
  // Fractions grow with the index, so that times and indexes have the same order.
  const startOf = (index: number): EpochMs => {
    if (!inStorm(index)) return size > 0 && index >= first ? Math.max(spread(index), stormSecond + 999) : spread(index)
    return stormSecond + Math.floor(((index - first) / size) * 999)
  }
  // Without this, all long spans would end in the last second: an unwanted storm.
  const within = (index: number, span: Ms) => {
    const available = to - startOf(index)
    return span <= available ? span : available * toUnitInterval(random(purposes.time, purpose + 100, index))
  }
  return {
    /** When row `index` started. Never decreases with the index. */
    startAt: startOf,
    /** `span` after the row started, but before the data ends; a storm row ends in the second in which it started. */
    endAt: (index: number, span: Ms): EpochMs =>
      startOf(index) + (inStorm(index) ? 0 : Math.floor(within(index, span))),
  }
}

/** The share of time after which that share of the rows has begun; the busiest day has four times the rows of another. */
function weeklyTime(share: number, weeks: number): number {
  const turn = 2 * Math.PI * Math.max(1, Math.round(weeks))
  return share + (0.6 * Math.sin(turn * share)) / turn
}
