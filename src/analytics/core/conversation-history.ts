/** What the facts of a conversation are derived from: its stored rows, with times in seconds since 1970. */
import type { SenderRole } from '../../config/analytics-settings.ts'
import type { EpochSeconds } from '../../values/time.ts'

/** Who wrote a message. `event`: not an utterance. */
export type Role = SenderRole | 'event'

export type HistoryMessage = {
  readonly id: number
  /** Null: the service showed no time. */
  readonly at: EpochSeconds | null
  readonly role: Role
  /** The name that the visitor saw; '' if there is none. */
  readonly name: string
}

export type TimedMessage = HistoryMessage & { readonly at: EpochSeconds }

/** A change of `handled_at` that two readings showed; `old` and `new` are times of the service, or null = not handled. */
export type HandledChange = {
  readonly old: EpochSeconds | null
  readonly new: EpochSeconds | null
  /** The last reading that is known to have shown `old`; null = an older version did not store it. */
  readonly oldReadAt: EpochSeconds | null
  /** The reading that showed `new`. */
  readonly seenAt: EpochSeconds
}

/** Only what exists: deleted messages and conversations are left out. */
export type ConversationHistory = {
  readonly id: string
  readonly visitorId: string | null
  readonly origin: string | null
  readonly assignedAgentId: string | null
  readonly createdAt: EpochSeconds | null
  readonly handledAt: EpochSeconds | null
  /** Whether the service listed all messages. */
  readonly isMessagesComplete: boolean
  readonly messages: readonly HistoryMessage[]
  /** In the order in which they were seen. */
  readonly handledChanges: readonly HandledChange[]
}
