/** Conversations of the seed data, and their messages. */
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Conversation, Message, Sequence } from '../model.ts'
import type { SeedRows } from '../row-store.ts'
import { pick, purposes, type Random, toUnitInterval } from './random.ts'
import { createRowIds, type IdLetters } from './row-ids.ts'
import type { SampleText, TextVariety } from './sample-text.ts'
import type { Timeline } from './timeline.ts'

type Conversations = SeedRows<Conversation, ConversationTime> & {
  readonly messages: (index: number) => Sequence<Message>
  /** Message ids from here on are free. */
  readonly firstFreeMessageId: number
}

export type ConversationTime = 'createdAt' | 'lastMessageAt' | 'updatedAt'

type ConversationParts = {
  readonly random: Random
  readonly sampleText: SampleText
  readonly textVariety: TextVariety
  readonly visitorOf: (draw: number) => string
  readonly idLetters: IdLetters
  readonly count: number
  /** Fewest and most messages in a conversation. */
  readonly messages: readonly [low: number, high: number]
  /** Share of conversations with the fewest messages. */
  readonly shortShare: number
  /** How many of the newest can be open. */
  readonly canBeOpen: number
  readonly messageStorm: number
  readonly time: Timeline
  readonly to: EpochMs
}

const origins = [
  'visitor_initiated',
  'visitor_initiated',
  'visitor_initiated',
  'agent_initiated',
  'email',
  'phone_callback',
]
const senders = ['visitor', 'visitor', 'visitor', 'visitor', 'agent', 'agent', 'agent', 'ai', 'ai', 'system'] as const
const systemKinds = ['agent_joined', 'agent_left', 'conversation_assigned', 'csat_requested', 'transfer']
const agents = Array.from({ length: 12 }, (_, n) => `agt_${(n * 7919 + 4096).toString(36)}`)
const minuteMs = 60_000

export function createConversations(parts: ConversationParts): Conversations {
  const { random, time, count, shortShare } = parts
  const ids = createRowIds(random, purposes.conversation, parts.idLetters)
  const [low, high] = parts.messages
  const lengthOf = (index: number) => {
    const share = toUnitInterval(random(purposes.size, purposes.conversation, index))
    return share < shortShare ? low : low + Math.floor(((share - shortShare) / (1 - shortShare)) * (high - low + 1))
  }
  const spanOf = (index: number): Ms =>
    lengthOf(index) < 2 ? 0 : (1 + (random(purposes.time, index, 1) % 40)) * minuteMs * lengthOf(index)
  const lastAt = (index: number) => time.endAt(index, spanOf(index))
  const handledAt = (index: number) => handledTime(parts, index, lastAt(index))
  const timeOf = (field: ConversationTime, index: number) => {
    if (field === 'createdAt') return time.startAt(index)
    return field === 'lastMessageAt' ? lastAt(index) : Math.max(lastAt(index), handledAt(index) ?? 0)
  }
  const messages = (index: number): Sequence<Message> => {
    const length = lengthOf(index)
    const timeAt = messageTimes(random, index, length, [time.startAt(index), lastAt(index)], parts.messageStorm)
    return { length, timeAt, rowAt: (k) => createMessage(parts, index, k, index * high + k + 1, timeAt(k)) }
  }
  return {
    count,
    ids,
    timeOf,
    messages,
    firstFreeMessageId: count * high + 1,
    seedRow: (index) => ({
      ...randomDetails(parts, index),
      index,
      id: ids.idAt(index),
      createdAt: time.startAt(index),
      lastMessageAt: lastAt(index),
      updatedAt: timeOf('updatedAt', index),
      ...lastMessageState(randomSender(random, index, lengthOf(index) - 1), lastAt(index), handledAt(index)),
    }),
  }
}

/** Of those that can be open six of seven are handled, some minutes after the last message. Too recent ones are open. */
function handledTime(parts: ConversationParts, index: number, lastAt: EpochMs): EpochMs | null {
  const draw = parts.random(purposes.handled, index)
  const at = lastAt + (1 + (draw % 300)) * minuteMs
  if (index < parts.count - parts.canBeOpen) return Math.min(at, parts.to)
  return draw % 7 === 0 || at > parts.to ? null : at
}

function lastMessageState(sender: string, lastAt: EpochMs, handledAt: EpochMs | null) {
  const waitingSince = handledAt === null && sender === 'visitor' ? lastAt : null
  return { lastMessageSenderType: sender, handledAt, waitingSince }
}

function randomDetails({ random, visitorOf }: ConversationParts, index: number) {
  const draw = random(purposes.agent, index)
  return {
    visitorId: visitorOf(random(purposes.visitor, index)),
    assignedAgentId: draw % 4 === 0 ? null : pick(agents, draw >>> 4),
    origin: pick(origins, random(purposes.origin, index)),
  }
}

function randomSender(random: Random, index: number, k: number): (typeof senders)[number] {
  return k <= 0 ? 'visitor' : pick(senders, random(purposes.sender, index, k))
}

/** The first message opens the conversation, the last one is at its `lastMessageAt`, the others in order between them. */
function messageTimes(random: Random, index: number, length: number, [from, to]: [EpochMs, EpochMs], storm: number) {
  const usual = (k: number) => {
    if (k <= 0 || length < 2) return from
    if (k >= length - 1) return to
    return Math.floor(from + ((k + toUnitInterval(random(purposes.time, index, k + 2)) * 0.9) / length) * (to - from))
  }
  const size = Math.min(storm, length)
  if (size < 2) return usual
  // A storm ends with the last message, so that paging meets it from either end.
  const second = Math.max(from, Math.floor(to / 1000) * 1000)
  const fraction = to - second
  return (k: number) => {
    const rank = k - (length - size)
    return rank < 0 ? Math.min(usual(k), second) : second + Math.floor((rank / Math.max(1, size - 1)) * fraction)
  }
}

function createMessage(parts: ConversationParts, index: number, k: number, id: number, createdAt: EpochMs): Message {
  const { random, sampleText } = parts
  const senderType = randomSender(random, index, k)
  const draw = random(purposes.extra, index, k)
  const kind = senderType === 'system' ? pick(systemKinds, draw) : 'utterance'
  const content = kind === 'utterance' ? sampleText.sentence(index, k, parts.textVariety) : kind.replaceAll('_', ' ')
  return { id, senderType, kind, content, senderDisplayName: displayName(parts, senderType, index), createdAt }
}

function displayName({ random, sampleText }: ConversationParts, senderType: string, index: number): string {
  if (senderType === 'visitor') return sampleText.personName(random(purposes.visitor, index) % 5000)
  if (senderType === 'agent') return sampleText.personName(1_000_000 + (index % 12))
  return senderType === 'ai' ? 'Assistant' : ''
}
