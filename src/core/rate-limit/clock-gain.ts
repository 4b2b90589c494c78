/**
 * Whether the clock of a budget's store ran ahead of this process's clock. Then slots end early, by what it gained. Pure.
 *
 * A step of a second or more closes the budget (`fail-closed.ts`). Less happens in operation: a time daemon steps the
 * clock, or lets it run up to a tenth faster until it is right. A wide margin covers that, a narrow one does not.
 */
import type { EpochMs, Ms } from '../time.ts'

/** The store's clock, and this process's clock before and after it was read. */
export type ClockReading = { readonly store: EpochMs; readonly from: Ms; readonly to: Ms }

/** A four-hundredth of a window: a quarter of the narrowest margin, in requests at an even pace. */
export function toleratedGainMs(windowMs: Ms): Ms {
  return windowMs / 400
}

/** How far the store's clock ran ahead at least: a slow reading looks like no gain. */
export function clockGainMs(earlier: ClockReading, later: ClockReading): Ms {
  return later.store - earlier.store - (later.to - earlier.from)
}

/** The reading with which later ones are compared: no older than a window, and none before a gain that was found. */
export function nextReference(earlier: ClockReading, later: ClockReading, windowMs: Ms): ClockReading {
  const isFound = clockGainMs(earlier, later) > toleratedGainMs(windowMs)
  return isFound || later.from - earlier.from > windowMs ? later : earlier
}
