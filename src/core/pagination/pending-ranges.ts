/**
 * A position is what of a list's time line is still to be covered: one range after a finished pass (from the last
 * second seen, to come), more when a pass was cut short on its way down.
 */
import { parseTime, rfc3339, type Seconds } from '../time.ts'

/** Seconds from `lo` to `hi`, both included; null = no end. */
export type TimeRange = { readonly lo: Seconds; readonly hi: Seconds | null }

/** All there is. */
export const allTime: TimeRange = { lo: 0, hi: null }

/** ISO 8601 intervals, an open end left out: `2026-05-01T00:00:00Z/2026-05-02T00:00:00Z 2026-06-01T00:00:00Z/`. */
export function writePendingRanges(ranges: readonly TimeRange[]): string {
  return ranges.map(({ lo, hi }) => `${rfc3339(lo)}/${hi === null ? '' : rfc3339(hi)}`).join(' ')
}

/** The ranges of a stored position; `start` where there is none, or none that can be read. */
export function readPendingRanges(text: string | null, start: TimeRange): readonly TimeRange[] {
  const ranges = (text ?? '').split(' ').map(readTimeRange)
  return ranges.some((range) => range === undefined) ? [start] : ranges.filter((range) => range !== undefined)
}

function readTimeRange(text: string): TimeRange | undefined {
  const [from, to] = text.split('/')
  const lo = parseTime(from)
  const hi = to === '' ? null : parseTime(to)
  return lo === undefined || hi === undefined ? undefined : { lo, hi }
}
