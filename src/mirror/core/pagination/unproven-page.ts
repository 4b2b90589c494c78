/** A page without bounds, and what a page with a bound then says about its order. */
import type { TimeRange } from './list-cursor.ts'
import { conservativeOrder, isCut, isOutside, showsNewRows } from './page-evidence.ts'
import type { ScanPage } from './page-protocol.ts'
import { addGap, type Reading } from './reading-state.ts'
import { minConclusiveRows, type TimeBounds } from './sort-order.ts'

/**
 * The rows of a page without bounds may all lack the time by which the service sorts, and be in
 * order of another one. So what such a page takes stays pending until a page with a bound, which
 * has only rows with the sort time, shows no time that it lacks.
 */
export function awaitProof(reading: Reading, page: ScanPage): void {
  reading.unproven = { page, pending: reading.pending, taken: [] }
}

/** After all that the page has taken from the range. */
export function setTaken(reading: Reading, range: TimeRange): void {
  const { unproven, pending } = reading
  if (unproven === null || pending[0] === range) return
  const rests = pending.slice(0, pending.length - unproven.pending.length + 1)
  const lo = (rests.find(({ hi }) => hi !== range.hi)?.hi ?? range.lo - 1) + 1
  const next = rests.find((rest) => rest.lo !== range.lo)?.lo
  const hi = next === undefined ? range.hi : next - 1
  // A page that is not cut shows all rows, whatever their order.
  const taken = hi !== null && hi < lo ? [] : [{ lo, hi }]
  reading.unproven = isCut(reading, unproven.page) ? { ...unproven, taken } : null
}

/** False: a page with a bound refutes the page without, so the range is read anew. */
export function isProvenBy(reading: Reading, page: ScanPage, bounds: TimeBounds): boolean {
  const { unproven } = reading
  if (unproven === null || isSamePage(page, unproven.page)) return true
  if (page.times.some((row) => isOutside(row, bounds, null))) return true
  const isMissing = (field: string) => !unproven.page.times.some((row) => row.has(field))
  const common = conservativeOrder(page.times)?.fields ?? []
  // More rows are said to follow an empty page: that is a gap of its own, and shows no time. Nor
  // does it where the rows that were said to follow cannot be read.
  const hasPassed = reading.passedPlaces.length > 0
  if (page.ids.length === 0 && (page.hasMore || hasPassed)) return true
  if (page.ids.length > 0 && !common.some(isMissing)) {
    reading.unproven = null
    return true
  }
  for (const range of unproven.pending.slice(0, 1)) addGap(reading, range, 'timeless')
  readAnew(reading, unproven)
  return false
}

/** A request with a bound shows the page without bounds, so the bound is ignored. */
export function isSamePage(page: ScanPage, other: ScanPage): boolean {
  return page.ids.length === other.ids.length && !showsNewRows(page, other)
}

/** At the end of a reading: no page with a bound has decided, so the number of its rows does. */
export function settleUnproven(reading: Reading): void {
  const { unproven } = reading
  if (unproven !== null && unproven.page.ids.length < minConclusiveRows) readAnew(reading, unproven)
  reading.unproven = null
}

function readAnew(reading: Reading, { page, pending }: NonNullable<Reading['unproven']>): void {
  reading.pending = pending.map((range) => ({ ...range }))
  reading.profile = { ...reading.profile, order: null }
  Object.assign(reading, { lastPage: null, nextRunAt: null, unproven: null, misleading: page })
}
