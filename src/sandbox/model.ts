/** The rows before they are formatted. Times are milliseconds, finer than shown; NaN is null. */
import type { EpochMs } from '../values/time.ts'

/** A row with a list of its own, which can be ordered by these times. */
export type TimedRow<Field extends string> = { readonly index: number; readonly id: string } & {
  readonly [F in Field]: EpochMs
}
export type ConversationTime = 'createdAt' | 'lastMessageAt' | 'updatedAt'
export type VisitorTime = 'createdAt' | 'lastSeenAt' | 'updatedAt'
export type CallTime = 'startedAt' | 'endedAt'

export type Conversation = TimedRow<ConversationTime> & {
  readonly visitorId: string
  readonly lastMessageSenderType: string
  readonly handledAt: EpochMs | null
  readonly waitingSince: EpochMs | null
  readonly assignedAgentId: string | null
  readonly origin: string
}

export type Message = {
  readonly id: number
  readonly senderType: string
  readonly kind: string
  readonly content: string
  readonly senderDisplayName: string
  readonly createdAt: EpochMs
  /** It was sent by the API. */
  readonly reply?: true
}

export type Visitor = TimedRow<VisitorTime> & {
  readonly name: string | null
  readonly email: string | null
}

/**
 * `variantSeed`: of its undocumented fields; equal entries share it. `position`: its number among
 * the visitor's entries, oldest first.
 */
export type Activity = {
  readonly kind: string
  readonly at: EpochMs
  readonly variantSeed: number
  readonly position: number
}

export type PhoneCall = TimedRow<CallTime> & {
  readonly visitorId: string
  readonly outcome: string
  /** When its recording was ready; null = it has none. */
  readonly recordedAt: EpochMs | null
}

/** Rows ordered by time, created on access. */
export type Sequence<T> = {
  readonly length: number
  readonly timeAt: (position: number) => EpochMs
  readonly rowAt: (position: number) => T
}
