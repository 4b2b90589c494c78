/**
 * When a conversation was handled and reopened, as far as the mirror knows: the service shows only
 * the present. What a reading showed once is not taken back.
 */
import type { SenderRole } from '../../config/analytics-settings.ts'
import type { EpochSeconds } from '../../values/time.ts'

/** Who wrote a message. `event`: not an utterance. */
export type AuthorRole = SenderRole | 'event'

export type HistoryMessage = {
  readonly id: number
  /** Null: the service showed no time. */
  readonly at: EpochSeconds | null
  readonly role: AuthorRole
  /** The name that the visitor saw; '' if there is none. */
  readonly name: string
}

export type TimedMessage = HistoryMessage & { readonly at: EpochSeconds }

/** Two readings showed it. `old`, `new`: times of the service, or null = not handled. */
export type HandledChange = {
  readonly old: EpochSeconds | null
  readonly new: EpochSeconds | null
  /** The last reading that is known to have shown `old`. */
  readonly oldReadAt: EpochSeconds
  /** The reading that showed `new`. */
  readonly seenAt: EpochSeconds
  /** The time of the last message, as the copies with `old` and `new` named it; null: none. */
  readonly oldLastMessageAt: EpochSeconds | null
  readonly newLastMessageAt: EpochSeconds | null
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
  /** Of the assigned agent, that two readings showed; null = nobody. */
  readonly assignmentChanges: readonly (Pick<HandledChange, 'oldReadAt' | 'seenAt'> &
    Readonly<Record<'old' | 'new', string | null>>)[]
}

/** `by`: how exactly `at` is known; `service`: the service's own time of the handling. */
export type FlagChange = {
  readonly at: EpochSeconds
  readonly by: 'created' | 'service' | 'message' | 'seen'
}

/** `handledAt`: when it was handled again; null = it has been open since. */
export type Reopening = { readonly at: EpochSeconds; readonly handledAt: EpochSeconds | null }

/**
 * Two readings. `from`: when the one before was made, or earlier. The times of the last message say
 * which messages were there, in the clock of the service; null: our clock has to do.
 */
type Readings = {
  readonly from: EpochSeconds
  readonly to: EpochSeconds
  readonly lastMessageBefore: EpochSeconds | null
  readonly lastMessageAfter: EpochSeconds | null
}

/**
 * `mirroredSince`: no reading is older. `flagChanges`: the first handling, the reopening after it,
 * the next handling and so on; `handlings`: all, also those of what was handled already. A message
 * beside the flag never dates a reopening: days that have ended would change.
 */
export function handledHistory(
  { handledAt, handledChanges }: Pick<ConversationHistory, 'handledAt' | 'handledChanges'>,
  messages: readonly TimedMessage[],
  mirroredSince: EpochSeconds,
): { readonly flagChanges: readonly FlagChange[]; readonly handlings: readonly EpochSeconds[] } {
  const flagChanges: FlagChange[] = []
  const handlings = new Set<EpochSeconds>()
  let lastHandledAt = Number.NEGATIVE_INFINITY
  let shown: EpochSeconds | null = null

  const addReopening = (
    readings: Readings,
    isSeenOpen: boolean,
    until = Number.POSITIVE_INFINITY,
  ) => {
    const { from, to, lastMessageBefore, lastMessageAfter } = readings
    const after = Math.max(lastMessageBefore ?? from, lastHandledAt)
    const message = messages.find(({ at, role }) => at > after && role !== 'event')
    const latest = Math.min(lastMessageAfter ?? to, until)
    if (message !== undefined && message.at <= latest)
      flagChanges.push({ at: message.at, by: 'message' })
    else if (isSeenOpen) flagChanges.push({ at: Math.max(to, lastHandledAt), by: 'seen' })
  }
  const addHandling = (time: EpochSeconds, seenAt: EpochSeconds) => {
    const isOpen = flagChanges.length % 2 === 0
    const opened = flagChanges.at(-1)
    // A time that was seen before says nothing of a handling after a reopening.
    const isDated = !isOpen || time > lastHandledAt
    const at = isDated ? time : Math.max(seenAt, opened?.at ?? seenAt)
    if (isOpen) {
      // Our clock, which says when we saw the reopening, may be ahead of that of the service.
      if (opened !== undefined && opened.at > at) flagChanges.splice(-1, 1, { at, by: 'seen' })
      flagChanges.push({ at, by: isDated ? 'service' : 'seen' })
    }
    handlings.add(at)
    lastHandledAt = Math.max(lastHandledAt, at)
  }
  const read = (value: EpochSeconds | null, readings: Readings) => {
    if (value === shown) return
    // A handling that only moved was repeated, unless a message had reopened the conversation.
    if (shown !== null) addReopening(readings, value === null, value ?? undefined)
    if (value !== null) addHandling(value, readings.to)
    shown = value
  }

  const [first] = handledChanges
  let readAt = Math.min(mirroredSince, first?.seenAt ?? mirroredSince)
  const atOnce = { lastMessageBefore: null, lastMessageAfter: null }
  read(first === undefined ? handledAt : first.old, { from: readAt, to: readAt, ...atOnce })
  for (const {
    new: value,
    oldReadAt,
    seenAt,
    oldLastMessageAt,
    newLastMessageAt,
  } of handledChanges) {
    const from = Math.min(Math.max(oldReadAt, readAt), seenAt)
    read(value, {
      from,
      to: seenAt,
      lastMessageBefore: oldLastMessageAt,
      lastMessageAfter: newLastMessageAt,
    })
    readAt = seenAt
  }
  read(handledAt, { from: readAt, to: readAt, ...atOnce })
  return { flagChanges, handlings: [...handlings].sort((a, b) => a - b) }
}

/** Reopenings by the flag alone: no message did it. They are dated when a reading showed them. */
export function reopeningsByFlag(flagChanges: readonly FlagChange[]): readonly Reopening[] {
  return flagChanges.flatMap(({ at, by }, index) => {
    const isReopening = index % 2 === 1
    return isReopening && by === 'seen'
      ? [{ at, handledAt: flagChanges[index + 1]?.at ?? null }]
      : []
  })
}

/** The first handling at that time or later. In one second, messages come before the handling. */
export function handlingFrom(
  handlings: readonly EpochSeconds[],
  time: EpochSeconds,
): EpochSeconds | null {
  return handlings.find((at) => at >= time) ?? null
}
