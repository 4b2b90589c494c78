/** When the rows of a stream are counted again: reading a count must be fast, and counting must not cost much. */
import type { EpochMs, Ms } from './time.ts'

export type RowCount = { readonly rows: number; readonly countedAt: EpochMs }

const minuteMs: Ms = 60_000
const hourMs: Ms = 60 * minuteMs

/** A million rows take a tenth of a second, so a table of many millions is counted more rarely. */
const rowsPerInterval = 1_000_000

/** `changed`: new and changed rows of a sync. Soon where they are more than one row in a hundred, otherwise hourly. */
export function isCountDue(known: RowCount | null, changed: number, now: EpochMs): boolean {
  if (changed === 0) return false
  if (known === null) return true
  const intervals = Math.max(1, known.rows / rowsPerInterval)
  const isLargeChange = changed * 100 > known.rows
  return now - known.countedAt >= intervals * (isLargeChange ? minuteMs : hourMs)
}

/** Fewer rows are counted each time that they are shown: that takes some milliseconds, even from a slow disk. */
const worthRemembering = 50_000

/** The count to show without counting; null: count now. */
export function countToShow(known: RowCount | null): RowCount | null {
  return known !== null && known.rows >= worthRemembering ? known : null
}
