/** Which days' rollups a pass asks for. A past day can change at any time, and nothing tells that it did. Pure. */
import type { Day } from './days.ts'
import type { RunMode } from './mirror.ts'
import { day, hour, type Seconds } from './time.ts'

/** A day's rollup is likely to change for so long after its end (late calls, late replies). */
const settling = day

/** A past day that is likely to change is read again not more often than this. */
const pause = 6 * hour

/** A reconcile reads again so many of the last days, */
const doubted = 7
/** and of the others at least so many and at least one in so many: each within a week of nights. */
const proofRead = { atLeast: 30, oneIn: 7 }

/** When a day was last read; undefined = never. */
export type ReadAt = (day: Day) => Seconds | undefined

/** The days that were never read, in the order given. */
export function missingDays(days: readonly Day[], readAt: ReadAt): Day[] {
  return days.filter((one) => readAt(one) === undefined)
}

/** Those that were read before they were over for long. The one read longest ago comes first. */
export function unsettledDays(days: readonly Day[], readAt: ReadAt, now: Seconds): Day[] {
  const unsettled = days.filter((one) => {
    const at = readAt(one)
    if (at === undefined || at >= one.to + settling) return false
    return one.to > now || at < one.to || now - at > pause
  })
  return longestAgo(unsettled, readAt)
}

/** How many days to read again that need not be read: of the last ones, and of those before them. */
export type Again = { readonly last: number; readonly older: number }

/** What a pass that begins has to read again of so many days. */
export function againOf(mode: RunMode, days: number): Again {
  const [last, older] = [Math.min(days, doubted), Math.max(0, days - doubted)]
  if (mode === 'incremental') return { last: 0, older: 0 }
  if (mode === 'full') return { last, older }
  return { last, older: Math.min(older, Math.max(proofRead.atLeast, Math.ceil(older / proofRead.oneIn))) }
}

/** Those days, of all that were read before (the newest first): in both parts the ones that were read longest ago. */
export function daysToReadAgain(days: readonly Day[], readAt: ReadAt, { last, older }: Again): [Day[], Day[]] {
  return [
    longestAgo(days.slice(0, doubted), readAt).slice(0, last),
    longestAgo(days.slice(doubted), readAt).slice(0, older),
  ]
}

function longestAgo(days: readonly Day[], readAt: ReadAt): Day[] {
  return days.toSorted((a, b) => (readAt(a) ?? 0) - (readAt(b) ?? 0))
}

/** As a note for whoever goes on: `7 34`. */
export function writeAgain({ last, older }: Again): string {
  return `${last} ${older}`
}

export function readAgainNote(note: string | null): Again | null {
  const [, last, older] = /^(\d+) (\d+)$/.exec(note ?? '') ?? []
  return last === undefined || older === undefined ? null : { last: Number(last), older: Number(older) }
}
