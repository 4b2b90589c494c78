/** Finishes a direction of a range: the opposite direction follows, then the next range. */
import type { EpochSeconds } from '../time.ts'
import { rowFingerprints, type ScanPage } from './page-evidence.ts'
import { boundOf, oppositeOf, type PagingProfile } from './paging-profile.ts'
import type { TimeRange } from './pending-ranges.ts'
import type { Opening, Paging, RangePhase, ScanContext, ScanState, ScanStep, Skipping } from './scan-state.ts'
import { toGap, toStep } from './scan-state.ts'
import { completeUpTo } from './sort-order.ts'

type Page = ScanPage | null

/** Continues with the rest of the range `from`. A backward scan leaves the open end for the next run. */
export function continueWith(scan: ScanContext, from: TimeRange, phase: Paging | Skipping, page: Page): ScanStep {
  const { lo, hi } = phase.range
  const next: ScanContext = { ...scan, nextRunRange: hi === null ? null : nextRunRangeOf(scan, from, page) }
  return hi !== null && hi < lo ? finishRange(next, phase, page) : toStep({ ...next, phase })
}

/** This direction is finished: continues in the opposite one if `hasMore` is unproven, else with the next range. */
export function finishRange(scan: ScanContext, phase: Opening | RangePhase, page: Page): ScanStep {
  if (phase.name === 'opening' || !phase.rangeScan.hasUnprovenMore) return leaveRange(scan, phase.range, page, null)
  const { oppositeRange, unverifiedRange } = phase.rangeScan
  if (oppositeRange !== null) return turnAround(scan, phase, oppositeRange, page)
  return leaveRange(scan, phase.range, page, unverifiedRange)
}

/** Continues in the opposite direction from the first page, or with the whole range. */
function turnAround(scan: ScanContext, phase: RangePhase, range: TimeRange, page: Page): ScanStep {
  const { rangeScan, recent } = phase
  const { direction, firstPage } = rangeScan
  const opposite: Paging = {
    name: 'paging',
    range,
    rangeScan: { ...rangeScan, direction: oppositeOf(direction), oppositeRange: null, lastFallbackAt: null },
    recent: { ...recent, ids: [new Set(firstPage.page.ids)], lastRows: rowFingerprints(firstPage.page) },
    isStalled: false,
    fallbackRange: phase.name === 'paging' ? phase.fallbackRange : null,
  }
  return continueWith(scan, phase.range, opposite, page)
}

/** `unreachable`: what could not be read of the range; null = nothing. */
function leaveRange(scan: ScanContext, range: TimeRange, page: Page, unreachable: TimeRange | null): ScanStep {
  const step = toStep(openNextRange({ ...scan, nextRunRange: nextRunRangeOf(scan, range, page) }))
  return unreachable === null ? step : { ...step, missedRanges: [toGap(unreachable, 'unreachable')] }
}

export function openNextRange({ remainingRanges: [range, ...remainingRanges], ...scan }: ScanContext): ScanState {
  const phase = range === undefined ? ({ name: 'done' } as const) : ({ name: 'opening', range } as const)
  return { ...scan, remainingRanges, phase }
}

/** The bound that was tried does not work: continues in the other direction, or finishes the range. */
export function disableBound(scan: ScanContext, phase: Opening | RangePhase, why: 'refused' | 'ignored'): ScanStep {
  if (phase.name === 'opening') return finishRange(scan, phase, null)
  const { rangeScan } = phase
  const bound = boundOf(rangeScan.direction)
  const support = { ...scan.profile.support, [bound]: why }
  const inclusiveBounds = { ...scan.profile.inclusiveBounds, [bound]: null }
  const profile: PagingProfile = { ...scan.profile, support, inclusiveBounds }
  const unproven = { hasUnprovenMore: true, unverifiedRange: rangeScan.unverifiedRange ?? phase.range }
  return finishRange({ ...scan, profile }, { ...phase, rangeScan: { ...rangeScan, ...unproven } }, null)
}

/** The rest of the range is unreachable, and so is an earlier unverified range. */
export function giveUpRange(scan: ScanContext, phase: Opening | RangePhase, page: ScanPage): ScanStep {
  const isUnproven = phase.name !== 'opening' && phase.rangeScan.hasUnprovenMore
  const unreachable = (isUnproven ? phase.rangeScan.unverifiedRange : null) ?? phase.range
  return leaveRange(scan, phase.range, page, unreachable)
}

/** After an open range, the next run begins with the newest second seen, but not beyond the cursor limit. */
function nextRunRangeOf(scan: ScanContext, { lo, hi }: TimeRange, page: Page): TimeRange | null {
  if (hi !== null) return scan.nextRunRange
  const seen = page === null ? lo : Math.max(lo, newestTime(scan.profile, page))
  return { lo: Math.min(seen, page?.cursorLimit ?? seen, scan.frozenCursorLimit ?? seen), hi: null }
}

export function newestTime({ order }: PagingProfile, page: ScanPage): EpochSeconds {
  return (order === null ? undefined : completeUpTo(order, page.times)) ?? 0
}
