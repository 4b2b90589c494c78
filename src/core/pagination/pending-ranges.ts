/**
 * The cursor of a list: the time ranges still to be read. One open range after a complete run (from the last second
 * seen), more after an interrupted one.
 */
import { type EpochSeconds, parseTime, rfc3339, type Seconds } from '../time.ts'

/** Seconds from `lo` to `hi`, both included; null = no end. */
export type TimeRange = { readonly lo: EpochSeconds; readonly hi: EpochSeconds | null }

export type PendingRanges = readonly TimeRange[]

/** Without limits. */
export const allTime: TimeRange = { lo: 0, hi: null }

/** As ISO 8601 intervals, with an open end left out: `2026-05-01T00:00:00Z/2026-05-02T00:00:00Z 2026-06-01T00:00:00Z/`. */
export function formatPendingRanges(ranges: PendingRanges): string {
  return ranges.map(({ lo, hi }) => `${rfc3339(lo)}/${hi === null ? '' : rfc3339(hi)}`).join(' ')
}

/** The ranges of a stored cursor; `start` if there is none, or it is unreadable. */
export function parsePendingRanges(text: string | null, start: TimeRange): PendingRanges {
  const ranges = (text ?? '').split(' ').map(parseTimeRange)
  return ranges.some((range) => range === undefined) ? [start] : ranges.filter((range) => range !== undefined)
}

function parseTimeRange(text: string): TimeRange | undefined {
  const [from, to] = text.split('/')
  const lo = parseTime(from)
  const hi = to === '' ? null : parseTime(to)
  return lo === undefined || hi === undefined ? undefined : { lo, hi }
}

export type LookBackOptions = {
  readonly lookBackSeconds: Seconds
  /** This machine's clock. */
  readonly now: EpochSeconds
  /** The earliest begin. */
  readonly start: EpochSeconds
}

/** Extends the open range backwards, because rows may appear late. Ranges with an end are read for the first time. */
export function applyLookBack(ranges: PendingRanges, options: LookBackOptions): PendingRanges {
  return ranges.map(({ lo, hi }) => ({ lo: hi === null ? Math.min(lo, lookBackStart(lo, options)) : lo, hi }))
}

/** The cursor is ahead of any plausible clock, so rows since then may be dated before it. */
export function isImplausibleCursor(cursor: EpochSeconds, { lookBackSeconds, now }: LookBackOptions): boolean {
  return cursor > now + Math.max(lookBackSeconds, maxClockSetbackSeconds)
}

/** How far a clock may have been set back. */
const maxClockSetbackSeconds: Seconds = 600

function lookBackStart(cursor: EpochSeconds, options: LookBackOptions): EpochSeconds {
  if (isImplausibleCursor(cursor, options)) return options.start
  return Math.max(options.start, Math.min(cursor, options.now) - options.lookBackSeconds)
}
