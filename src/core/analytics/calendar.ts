/** A project's local time and business hours, as functions of seconds since 1970. */
import type { Seconds } from '../time.ts'

export type Calendar = {
  /** The local date, `YYYY-MM-DD`. */
  readonly dateOf: (at: Seconds) => string
  /** The local hour, 0 to 23. */
  readonly hourOf: (at: Seconds) => number
  /** Seconds within business hours from `from` to `to`; negative if `to` is the earlier one. */
  readonly businessSeconds: (from: Seconds, to: Seconds) => number
}
