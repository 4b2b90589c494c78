/** Compares a number of the service's rollup with our own on one day, once neither will change. */
import { type EpochSeconds, hourSeconds } from '../time.ts'

/** `proven`: no other candidate fits. `likely`: it fits nearly always. `unknown`: shown without a number of our own. */
export type Verdict = 'proven' | 'likely' | 'unknown'

/** A day of the rollup, as far as it decides whether its numbers can be compared. */
export type RollupDay = {
  readonly endsAt: EpochSeconds
  /** When the service was asked for it. */
  readonly readAt: EpochSeconds
  /** When the rows of the mirror were last read. */
  readonly mirroredAt: EpochSeconds
  /** Whether a gap of the mirror touches it. */
  readonly hasGap: boolean
  /** Whether all conversations of the day are complete. */
  readonly isComplete: boolean
}

/** Calls and messages of a day's last minutes come a little later, here or in the rollup. */
const lateSeconds = hourSeconds

export function isFinalDay({ endsAt, readAt, mirroredAt, hasGap, isComplete }: RollupDay): boolean {
  return Math.min(readAt, mirroredAt) >= endsAt + lateSeconds && !hasGap && isComplete
}

/** Our own number as the service would show it. */
export function asShown(service: number, own: number | null): number | null {
  return isEqualAsShown(service, own) ? service : own
}

/** Equal to the digits that the service shows. Without a value of our own, the service may show 0. */
export function isEqualAsShown(service: number, own: number | null, tolerance = toleranceOf(service)): boolean {
  return own === null ? service === 0 : Math.abs(service - own) <= tolerance
}

/** Half a unit of the last digit that the service shows. */
export function toleranceOf(service: number): number {
  const decimals = /\.(\d+)$/.exec(String(service))?.[1]?.length ?? 0
  return 0.5 * 10 ** -decimals + 1e-9
}
