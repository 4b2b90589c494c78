/** Fills in missing times from the neighbours, so that one unreadable row does not hide the order of a whole page. */
import type { EpochSeconds } from '../../../values/time.ts'
import type { RowTimes } from './sort-order.ts'

/** A time that this share of the rows shows belongs to all of them. */
const minShare = 0.9

/** `isUnreadable`: the row has a value in that field that is not a time. */
export function fillMissingTimes(times: readonly RowTimes[], isUnreadable: (row: number, field: string) => boolean) {
  if (times.every(({ size }) => size === times[0]?.size && size > 0)) return times
  const shown = new Map<string, number>()
  for (const row of times) for (const field of row.keys()) shown.set(field, (shown.get(field) ?? 0) + 1)
  const common = [...shown].filter(([, rows]) => rows < times.length && rows >= times.length * minShare)
  const filled = times.map((row) => new Map(row))
  for (const [field] of common) {
    for (const [i, row] of times.entries()) {
      if (row.has(field) || (row.size > 0 && !isUnreadable(i, field))) continue
      filled[i]?.set(field, nearestTime(times, i, field))
    }
  }
  return filled
}

function nearestTime(times: readonly RowTimes[], i: number, field: string): EpochSeconds {
  for (let step = 1; step <= times.length; step++) {
    const at = times[i - step]?.get(field) ?? times[i + step]?.get(field)
    if (at !== undefined) return at
  }
  return 0
}
