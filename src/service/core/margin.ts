/**
 * The margin: the share of a limit that is not used, in whole percent, and how it is learned. Pure.
 *
 * Slots alone never pass a limit that is counted exactly. The margin is for what we cannot see: a service that estimates
 * its window, counts in whole seconds, counts a request twice or after its response; a little use by another program. Most
 * services do none of that, so the margin narrows once many windows near the limit brought no 429, and is wide again with
 * the first 429. A window with few requests proves nothing.
 */
import type { ServiceBehaviour } from '../../../schema/row.ts'
import type { EpochMs, Rate } from '../../values/time.ts'

/** Of requests, or of writes. */
export type LearnedMargin = {
  /** Windows near the limit without a 429, since the last 429 that the margin may explain. */
  readonly quietWindows: number
  /** The widest margin that was too narrow, as the service answered 429; 0: none was. */
  readonly refusedPercent: number
  /** The window that is being counted, and the responses in it. */
  readonly windowFrom: EpochMs
  readonly responses: number
}

export const widePercent = 5
const narrowPercent = 1
/** From then on each further quiet window makes the margin a percent narrower. */
const quietWindowsNeeded = 10
const quietWindowsForNarrow = quietWindowsNeeded + widePercent - narrowPercent - 1
/** A day at the limit. Then a margin that was too narrow is tried again. */
const quietWindowsToRetry = 1440
/** A window counts as near the limit if this share of its slots was used: less are used by slow responses. */
const nearLimitShare = 0.95

export const wideMargin: LearnedMargin = { quietWindows: 0, refusedPercent: 0, windowFrom: 0, responses: 0 }

export type BudgetPolicy = {
  readonly rate: Rate
  readonly writeRate: Rate
  /** The share of the slots, 0 to below 1, that is left to other programs that use the same key. */
  readonly reserve: number
  /** The share of the limit, 0 to below 1, that is not used; null: it is learned. */
  readonly rateMargin: number | null
}

export type Margins = { readonly all: LearnedMargin; readonly writes: LearnedMargin }

export const wideMargins: Margins = { all: wideMargin, writes: wideMargin }

export function marginPercent({ quietWindows, refusedPercent }: LearnedMargin): number {
  const earned = widePercent - Math.max(0, quietWindows - quietWindowsNeeded + 1)
  return Math.min(widePercent, Math.max(narrowPercent, earned, refusedPercent + 1))
}

/** A margin that was learned earlier. */
export function learnedMargin(percent: number, refusedPercent: number): LearnedMargin {
  const quietWindows = percent >= widePercent ? 0 : quietWindowsNeeded + widePercent - 1 - percent
  return { ...wideMargin, quietWindows, refusedPercent }
}

/** The slots of a limit with this margin (a share), at least one. */
export function slotsWithin({ requests }: Rate, margin: number): number {
  // The rounding keeps 0.95 × 600 from being 569.
  return Math.max(1, Math.floor(Math.round(requests * (1 - margin) * 1e6) / 1e6))
}

/** The service responded. `isEvidence`: the slots are not reduced, so that a full window is near the limit. */
export function afterResponse(before: LearnedMargin, rate: Rate, now: EpochMs, isEvidence: boolean): LearnedMargin {
  if (now < before.windowFrom + rate.windowMs) return { ...before, responses: before.responses + 1 }
  const slots = slotsWithin(rate, marginPercent(before) / 100)
  const isQuiet = isEvidence && before.responses >= nearLimitShare * slots
  const next = isQuiet ? afterQuietWindow(before) : before
  return { ...next, windowFrom: now, responses: 1 }
}

function afterQuietWindow(before: LearnedMargin): LearnedMargin {
  const quietWindows = before.quietWindows + 1
  if (quietWindows < quietWindowsToRetry) return { ...before, quietWindows }
  return { ...before, quietWindows: quietWindowsForNarrow, refusedPercent: Math.max(0, before.refusedPercent - 1) }
}

/**
 * The service answered 429 while `taken` slots were taken. With fewer than a wide margin leaves it was not the margin:
 * others use the key. With no more than that either, so the next narrower margin may be tried again later.
 */
export function afterThrottle(before: LearnedMargin, rate: Rate, now: EpochMs, taken: number): LearnedMargin {
  const counted = { windowFrom: now, responses: 0 }
  if (taken < slotsWithin(rate, widePercent / 100)) return { ...before, ...counted }
  const unusedPercent = Math.floor(100 * (1 - taken / rate.requests) + 1e-9)
  const refusedPercent = unusedPercent >= widePercent ? 0 : unusedPercent
  return { ...counted, quietWindows: 0, refusedPercent: Math.max(before.refusedPercent, refusedPercent) }
}

const names = { all: 'rate.margin', writes: 'write_rate.margin' } as const

export function changedMargins(policy: BudgetPolicy, before: Margins, now: Margins): readonly ServiceBehaviour[] {
  return [
    ...changedMargin(names.all, policy.rate, before.all, now.all),
    ...changedMargin(names.writes, policy.writeRate, before.writes, now.writes),
  ]
}

function changedMargin(name: string, rate: Rate, before: LearnedMargin, now: LearnedMargin): ServiceBehaviour[] {
  const value = encodeMargin(now)
  if (value === encodeMargin(before)) return []
  const near = `near ${rate.requests} in ${rate.windowMs / 1000} s`
  const evidence =
    now.quietWindows === 0
      ? `the service answered 429 ${near}, with a margin of ${marginPercent(before)} %`
      : `no 429 in ${Math.max(now.quietWindows, before.quietWindows + 1)} windows ${near}`
  return [{ name, value, evidence }]
}

function encodeMargin(margin: LearnedMargin): string {
  const reason = margin.refusedPercent === 0 ? '' : `, as ${margin.refusedPercent} % was too narrow`
  return `${marginPercent(margin)} %${reason}`
}

/** From the values of behaviours by name. An unreadable value counts as unknown. */
export function decodeMargins(behaviours: ReadonlyMap<string, string>): Margins {
  return { all: decodeMargin(behaviours.get(names.all)), writes: decodeMargin(behaviours.get(names.writes)) }
}

function decodeMargin(value = ''): LearnedMargin {
  const [, percent, refused = '0'] = /^([1-5]) %(?:, as ([1-4]) % was too narrow)?$/.exec(value) ?? []
  return percent === undefined ? wideMargin : learnedMargin(Number(percent), Number(refused))
}
