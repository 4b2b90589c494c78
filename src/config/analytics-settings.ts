/** What a project configures about its analytics, as the derivations need it. */

import type { LocalDate, Seconds, Weekday } from '../values/time.ts'

/** Minutes of the day, 0 to 1440; `closes` is excluded. */
export type OpeningHours = { readonly opens: number; readonly closes: number }

/** A day that is left out is closed. */
export type WeeklyHours = Readonly<Partial<Record<Weekday, readonly OpeningHours[]>>>

/** The hours of single dates, in place of those of their weekday; none = closed. */
export type Holidays = Readonly<Record<LocalDate, readonly OpeningHours[]>>

/** An aim for waits, shown with how often it was met. */
export type Target = {
  readonly name: string
  /** Ends with the next answer by anyone, or with the next human one. */
  readonly clock: 'any' | 'human'
  /** The first wait of each conversation, also if it is handled without an answer; or every one. */
  readonly which: 'first' | 'every'
  readonly withinSeconds: Seconds
  readonly inBusinessHours: boolean
  /** For waits that began from this date on; null = for all. */
  readonly from: LocalDate | null
  /** … and before this date; null = until another target of the same name begins. */
  readonly to: LocalDate | null
}

/** Paths of undocumented fields in the service's rows, like `visitor.id`; null = not known. */
type CallFields = Readonly<Record<'visitor' | 'ended' | 'outcome' | 'duration' | 'direction' | 'agent', string | null>>
type ActivityFields = Readonly<Record<'activityKind' | 'activityPage', string | null>>

export type AnalyticsSettings = {
  /** By sender type, in place of the guesses. */
  readonly roles: Readonly<Record<string, SenderRole>>
  /** Null: round the clock. */
  readonly hours: WeeklyHours | null
  readonly holidays: Holidays
  readonly visitGapSeconds: Seconds
  /** How long a snapshot of the availability holds at most. */
  readonly availabilityHoldSeconds: Seconds
  readonly targets: readonly Target[]
  readonly calls: CallFields
  readonly fields: ActivityFields
  /** False: views leave out names and addresses of visitors. */
  readonly personalData: boolean
}

/** The roles whose messages make up a conversation. */
export type SpeakerRole = 'visitor' | 'human' | 'ai'

/** Of an utterance. `other`: its sender type has no known role. */
export type SenderRole = SpeakerRole | 'other'
