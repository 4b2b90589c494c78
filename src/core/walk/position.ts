/**
 * A position is what of a list's time line is still to be covered: one range after a finished pass (from the last
 * second seen, to come), more when a pass was cut short on its way down.
 */
import { moment, rfc3339, type Seconds } from '../time.ts'

/** Seconds from `lo` to `hi`, both included; null = no end. */
export type Range = { readonly lo: Seconds; readonly hi: Seconds | null }

/** All there is. */
export const everything: Range = { lo: 0, hi: null }

/** ISO 8601 intervals, an open end left out: `2026-05-01T00:00:00Z/2026-05-02T00:00:00Z 2026-06-01T00:00:00Z/`. */
export function writePosition(ranges: readonly Range[]): string {
  return ranges.map(({ lo, hi }) => `${rfc3339(lo)}/${hi === null ? '' : rfc3339(hi)}`).join(' ')
}

/** The ranges of a stored position; `start` where there is none, or none that can be read. */
export function readPosition(text: string | null, start: Range): readonly Range[] {
  const ranges = (text ?? '').split(' ').map(readRange)
  return ranges.some((range) => range === undefined) ? [start] : ranges.filter((range) => range !== undefined)
}

function readRange(text: string): Range | undefined {
  const [from, to] = text.split('/')
  const lo = moment(from)
  const hi = to === '' ? null : moment(to)
  return lo === undefined || hi === undefined ? undefined : { lo, hi }
}
