/** A project's local time and business hours, as functions of seconds since 1970. */
import type { EpochSeconds, Seconds } from '../time.ts'

export type Calendar = {
  /** The local date, `YYYY-MM-DD`. */
  readonly dateOf: (at: EpochSeconds) => string
  /** The local hour, 0 to 23. */
  readonly hourOf: (at: EpochSeconds) => number
  /** The end of the stretch of one local hour that `at` is in. */
  readonly hourEnd: (at: EpochSeconds) => EpochSeconds
  /** Seconds within business hours from `from` to `to`; negative if `to` is the earlier one. */
  readonly businessSeconds: (from: EpochSeconds, to: EpochSeconds) => Seconds
}
