/** The turns of a conversation: runs of messages by the visitor, by humans or by the AI, in the order of time. */
import type { EpochSeconds } from '../time.ts'
import type { HistoryMessage, Role } from './conversation-history.ts'
import type { SpeakerRole } from './fact-rows.ts'

export type TimedMessage = HistoryMessage & { readonly at: EpochSeconds }

export type Turn = {
  readonly role: SpeakerRole
  readonly startedAt: EpochSeconds
  readonly endedAt: EpochSeconds
  readonly messages: number
  /** The names on its first and last message. */
  readonly firstName: string
  readonly lastName: string
}

/** Messages without a time are left out; of those of one second, the lower id is the earlier one. */
export function messagesInOrder(messages: readonly HistoryMessage[]): readonly TimedMessage[] {
  const timed = messages.every(isTimed) ? messages : messages.filter(isTimed)
  return isInOrder(timed) ? timed : timed.toSorted(compareMessages)
}

/** `messages`: in order. Events and utterances of unknown senders neither make nor end a turn. */
export function turnsOf(messages: readonly TimedMessage[]): readonly Turn[] {
  const turns: { -readonly [Key in keyof Turn]: Turn[Key] }[] = []
  for (const { at, role, name } of messages) {
    if (!isSpeaker(role)) continue
    const last = turns.at(-1)
    if (last?.role === role) {
      last.endedAt = at
      last.lastName = name
      last.messages++
    } else {
      turns.push({ role, startedAt: at, endedAt: at, messages: 1, firstName: name, lastName: name })
    }
  }
  return turns
}

function isSpeaker(role: Role): role is SpeakerRole {
  return role !== 'event' && role !== 'other'
}

function isTimed(message: HistoryMessage): message is TimedMessage {
  return message.at !== null
}

function isInOrder(messages: readonly TimedMessage[]): boolean {
  return messages.every((message, index) => {
    const before = messages[index - 1]
    return before === undefined || compareMessages(before, message) <= 0
  })
}

function compareMessages(a: TimedMessage, b: TimedMessage): number {
  return a.at - b.at || a.id - b.id
}
