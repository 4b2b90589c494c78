/**
 * Whether the clock of a budget's store ran ahead of this process's clock. Then slots end early, by what it gained. Pure.
 *
 * Time daemons step a clock by less than a second, or let it run up to a tenth faster until it is right. A wide margin
 * covers up to two seconds of that, so the margin is wide until no slot is left that ended early. More closes the budget.
 */
import type { EpochMs, Ms } from '../time.ts'

/** The store's clock, and this process's clock before and after it was read. */
export type ClockReading = { readonly store: EpochMs; readonly from: Ms; readonly to: Ms }

/** A four-hundredth of a window: a quarter of the narrowest margin, at an even pace. */
export function toleratedGainMs(windowMs: Ms): Ms {
  return windowMs / 400
}

/** How far the store's clock ran ahead at least: a slow reading looks like less. */
export function clockGainMs(reference: ClockReading, reading: ClockReading): Ms {
  return reading.store - reference.store - (reading.to - reference.from)
}

/** The reading with which later ones are compared: not older than a window. */
export function nextReference(reference: ClockReading, reading: ClockReading, windowMs: Ms): ClockReading {
  return reading.from - reference.from > windowMs ? reading : reference
}
