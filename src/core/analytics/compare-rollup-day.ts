/** Compares a number of the service's rollup with our own on one day, once neither will change. */
import type { EpochSeconds } from '../time.ts'

/** `proven`: no other candidate fits. `likely`: it fits nearly always. `unknown`: shown without a number of our own. */
export type Verdict = 'proven' | 'likely' | 'unknown'

/** A day of the rollup, as far as it decides whether its numbers can be compared. */
export type RollupDay = {
  readonly endsAt: EpochSeconds
  /** When the service was asked for it. */
  readonly readAt: EpochSeconds
  /** Whether a gap of the mirror touches it. */
  readonly hasGap: boolean
  /** Whether all conversations of the day are complete. */
  readonly isComplete: boolean
}

export function isFinalDay({ endsAt, readAt, hasGap, isComplete }: RollupDay): boolean {
  return readAt >= endsAt && !hasGap && isComplete
}

export type Comparison = 'equal' | 'different' | 'not final' | 'not compared'

/** `different` on a final day of a proven definition is an alarm: the service has changed, or the mirror has a gap. */
export function compareDay(
  verdict: Verdict,
  day: { readonly service: number; readonly own: number | null; readonly isFinal: boolean },
): Comparison {
  if (verdict === 'unknown') return 'not compared'
  if (!day.isFinal) return 'not final'
  return isEqualAsShown(day.service, day.own) ? 'equal' : 'different'
}

/** Equal to the digits that the service shows. Without a value of our own, the service may show 0. */
export function isEqualAsShown(service: number, own: number | null): boolean {
  if (own === null) return service === 0
  const decimals = /\.(\d+)$/.exec(String(service))?.[1]?.length ?? 0
  return Math.abs(service - own) <= 0.5 * 10 ** -decimals + 1e-9
}
