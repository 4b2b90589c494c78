/** What a key allows, and how much of it is used. Pure. */
import type { Ms, Rate } from '../../values/time.ts'

export type BudgetPolicy = {
  readonly rate: Rate
  readonly writeRate: Rate
  /** The share of the slots, 0 to below 1, that is left to other programs that use the same key. */
  readonly reserve: number
  /** The share of both limits, 0 to below 1, that is never used. */
  readonly rateMargin: number
}

/** How much longer a window may be that holds only the limit: 1.2 s of a minute for 2 %. */
export const marginMs = ({ rateMargin }: BudgetPolicy, { windowMs }: Rate): Ms =>
  rateMargin * windowMs

/** The slots of this share of a limit, at least one. */
export function slotsWithin({ requests }: Rate, share: number): number {
  // The rounding keeps 0.95 × 600 from being 569.
  return Math.max(1, Math.floor(Math.round(requests * share * 1e6) / 1e6))
}
