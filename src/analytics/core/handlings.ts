/**
 * When a conversation was handled and reopened, as far as the mirror knows. The service shows only the present handling:
 * earlier ones follow from the changes that two readings showed. What a reading showed once is not taken back.
 */
import type { EpochSeconds } from '../../values/time.ts'
import type { ConversationHistory, TimedMessage } from './conversation-history.ts'

/** `by`: how exactly `at` is known; `service`: the service's own time of the handling. */
export type FlagChange = { readonly at: EpochSeconds; readonly by: 'created' | 'service' | 'message' | 'seen' }

type HandledHistory = {
  /** In order: the first handling, the reopening after it, the next handling and so on. */
  readonly flagChanges: readonly FlagChange[]
  /** All handlings in order, also those of a conversation that was handled already. */
  readonly handlings: readonly EpochSeconds[]
}

/** Two readings. `from`: when the one before was made, or a time before it; `to`: when the later one was made. */
type Readings = { readonly from: EpochSeconds; readonly to: EpochSeconds }

/** `messages`: in order. `mirroredSince`: no reading is older. */
export function handledHistory(
  { handledAt, handledChanges }: Pick<ConversationHistory, 'handledAt' | 'handledChanges'>,
  messages: readonly TimedMessage[],
  mirroredSince: EpochSeconds,
): HandledHistory {
  const flagChanges: FlagChange[] = []
  const handlings = new Set<EpochSeconds>()
  let lastHandledAt = Number.NEGATIVE_INFINITY
  let shown: EpochSeconds | null = null

  const addReopening = ({ from, to }: Readings, isSeenOpen: boolean) => {
    const message = messages.find(({ at, role }) => at > lastHandledAt && at >= from && role !== 'event')
    if (message !== undefined && message.at <= to) flagChanges.push({ at: message.at, by: 'message' })
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
    if (shown !== null) addReopening(value === null ? readings : { ...readings, to: value }, value === null)
    if (value !== null) addHandling(value, readings.to)
    shown = value
  }

  const [first] = handledChanges
  let readAt = Math.min(mirroredSince, first?.seenAt ?? mirroredSince)
  read(first === undefined ? handledAt : first.old, { from: readAt, to: readAt })
  for (const { new: value, oldReadAt, seenAt } of handledChanges) {
    read(value, { from: Math.min(Math.max(oldReadAt ?? readAt, readAt), seenAt), to: seenAt })
    readAt = seenAt
  }
  read(handledAt, { from: readAt, to: readAt })
  return { flagChanges, handlings: [...handlings].sort((a, b) => a - b) }
}

/** The first handling at that time or later. In one second, messages come before the handling. */
export function handlingFrom(handlings: readonly EpochSeconds[], time: EpochSeconds): EpochSeconds | null {
  return handlings.find((at) => at >= time) ?? null
}

/** Whether a message of the time `to` was written after a handling that came after one of the time `from`. */
export function isHandledBetween(handlings: readonly EpochSeconds[], from: EpochSeconds, to: EpochSeconds): boolean {
  return handlings.some((at) => at >= from && at < to)
}
