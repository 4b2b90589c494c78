/** Conversations of the seeded past, and the messages in each. */
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Conversation, Message, Sequence } from '../model.ts'
import { between, type Dice, pick, purposes, unit } from './dice.ts'
import { type Identity, identity } from './identity.ts'
import type { Oddity, Phrases } from './phrases.ts'
import type { Timeline } from './timeline.ts'

export type Conversations = {
  readonly count: number
  readonly identity: Identity
  readonly base: (index: number) => Conversation
  readonly timeOf: (field: ConversationTime, index: number) => EpochMs
  readonly messages: (index: number) => Sequence<Message>
  /** Message ids from here on are free. */
  readonly firstFreeMessageId: number
}

export type ConversationTime = 'createdAt' | 'lastMessageAt' | 'updatedAt'

export type ConversationParts = {
  readonly dice: Dice
  readonly phrases: Phrases
  readonly content: Oddity
  readonly visitorOf: (thrown: number) => string
  readonly count: number
  /** Fewest and most messages in a conversation. */
  readonly messages: readonly [low: number, high: number]
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

export function conversations(parts: ConversationParts): Conversations {
  const { dice, time, count } = parts
  const ids = identity(dice, purposes.conversation)
  const [low, high] = parts.messages
  const lengthOf = (index: number) => between(low, high, dice(purposes.size, purposes.conversation, index))
  const spanOf = (index: number): Ms =>
    lengthOf(index) < 2 ? 0 : (1 + (dice(purposes.time, index, 1) % 40)) * minuteMs * lengthOf(index)
  const lastAt = (index: number) => time.after(index, spanOf(index))
  const handledAt = (index: number) => handledTime(dice, index, lastAt(index), parts.to)
  const timeOf = (field: ConversationTime, index: number) => {
    if (field === 'createdAt') return time.startOf(index)
    return field === 'lastMessageAt' ? lastAt(index) : Math.max(lastAt(index), handledAt(index) ?? 0)
  }
  const messages = (index: number): Sequence<Message> => {
    const length = lengthOf(index)
    const timeAt = messageTimes(dice, index, length, [time.startOf(index), lastAt(index)], parts.messageStorm)
    return { length, timeAt, rowAt: (k) => message(parts, index, k, index * high + k + 1, timeAt(k)) }
  }
  return {
    count,
    identity: ids,
    timeOf,
    messages,
    firstFreeMessageId: count * high + 1,
    base: (index) => ({
      ...circumstances(parts, index),
      index,
      id: ids.of(index),
      createdAt: time.startOf(index),
      lastMessageAt: lastAt(index),
      updatedAt: timeOf('updatedAt', index),
      ...standing(senderOf(dice, index, lengthOf(index) - 1), lastAt(index), handledAt(index)),
    }),
  }
}

/** Six of seven are handled, some minutes after the last message. Those too young for that are open. */
function handledTime(dice: Dice, index: number, lastAt: EpochMs, to: EpochMs): EpochMs | null {
  const thrown = dice(purposes.handled, index)
  const at = lastAt + (1 + (thrown % 300)) * minuteMs
  return thrown % 7 === 0 || at > to ? null : at
}

function standing(sender: string, lastAt: EpochMs, handledAt: EpochMs | null) {
  const waitingSince = handledAt === null && sender === 'visitor' ? lastAt : null
  return { lastMessageSenderType: sender, handledAt, waitingSince }
}

function circumstances({ dice, visitorOf }: ConversationParts, index: number) {
  const thrown = dice(purposes.agent, index)
  return {
    visitorId: visitorOf(dice(purposes.visitor, index)),
    assignedAgentId: thrown % 4 === 0 ? null : pick(agents, thrown >>> 4),
    origin: pick(origins, dice(purposes.origin, index)),
  }
}

function senderOf(dice: Dice, index: number, k: number): (typeof senders)[number] {
  return k <= 0 ? 'visitor' : pick(senders, dice(purposes.sender, index, k))
}

/** The first message opens the conversation, the last one is its `lastMessageAt`, the others lie between in order. */
function messageTimes(dice: Dice, index: number, length: number, [from, to]: [EpochMs, EpochMs], storm: number) {
  const usual = (k: number) => {
    if (k <= 0 || length < 2) return from
    if (k >= length - 1) return to
    return Math.floor(from + ((k + unit(dice(purposes.time, index, k + 2)) * 0.9) / length) * (to - from))
  }
  const size = Math.min(storm, length)
  if (size < 2) return usual
  // A storm ends with the last message, so that a pager meets it wherever it starts.
  const second = Math.max(from, Math.floor(to / 1000) * 1000)
  const fraction = to - second
  return (k: number) => {
    const rank = k - (length - size)
    return rank < 0 ? Math.min(usual(k), second) : second + Math.floor((rank / Math.max(1, size - 1)) * fraction)
  }
}

function message(parts: ConversationParts, index: number, k: number, id: number, createdAt: EpochMs): Message {
  const { dice, phrases } = parts
  const senderType = senderOf(dice, index, k)
  const thrown = dice(purposes.extra, index, k)
  const kind = senderType === 'system' ? pick(systemKinds, thrown) : 'utterance'
  const content = kind === 'utterance' ? phrases.sentence(index, k, parts.content) : kind.replaceAll('_', ' ')
  return { id, senderType, kind, content, senderDisplayName: displayName(parts, senderType, index), createdAt }
}

function displayName({ dice, phrases }: ConversationParts, senderType: string, index: number): string {
  if (senderType === 'visitor') return phrases.personName(dice(purposes.visitor, index) % 5000)
  if (senderType === 'agent') return phrases.personName(1_000_000 + (index % 12))
  return senderType === 'ai' ? 'Assistant' : ''
}
