/** Conversations of the seed data, and their messages. */
import type { EpochMs, Ms } from '../values/time.ts'
import type { Conversation, Message } from './model.ts'
import { pick, purposes, type Random, toUnitInterval } from './random.ts'
import type { SeedRows } from './row-store.ts'
import { type SeedContext, toRange } from './seed-context.ts'

export type ConversationTime = 'createdAt' | 'lastMessageAt' | 'updatedAt'

const origins = [...Array(3).fill('visitor_initiated'), 'agent_initiated', 'email', 'phone_callback']
const senders = 'visitor visitor visitor visitor agent agent agent ai ai system'.split(' ')
const systemKinds = ['agent_joined', 'agent_left', 'conversation_assigned', 'csat_requested', 'transfer']
const agents = Array.from({ length: 12 }, (_, n) => `agt_${(n * 7919 + 4096).toString(36)}`)
const minuteMs = 60_000

export function createConversations(seed: SeedContext) {
  const { random, size, createIds, createLine } = seed
  const [ids, time] = [createIds('conversation'), createLine('conversation')]
  const [low, high] = toRange(size.messagesPerConversation)
  const shortShare = size.shortConversations ?? 0
  const lengthOf = (index: number) => {
    const share = toUnitInterval(random(purposes.size, purposes.conversation, index))
    return share < shortShare ? low : low + Math.floor(((share - shortShare) / (1 - shortShare)) * (high - low + 1))
  }
  const spanOf = (index: number): Ms =>
    lengthOf(index) < 2 ? 0 : (1 + (random(purposes.time, index, 1) % 40)) * minuteMs * lengthOf(index)
  const lastAt = (index: number) => time.endAt(index, spanOf(index))
  const handledAt = (index: number) => handledTime(seed, index, lastAt(index))
  const timeOf = (field: ConversationTime, index: number) => {
    if (field === 'createdAt') return time.startAt(index)
    return field === 'lastMessageAt' ? lastAt(index) : Math.max(lastAt(index), handledAt(index) ?? 0)
  }
  return {
    count: size.conversations,
    ids,
    timeOf,
    messages(index: number): Message[] {
      const length = lengthOf(index)
      const timeAt = messageTimes(seed, index, length, time.startAt(index), lastAt(index))
      return Array.from({ length }, (_, k) => createMessage(seed, index, k, index * high + k + 1, timeAt(k)))
    },
    /** Message ids from here on are free. */
    firstFreeMessageId: size.conversations * high + 1,
    seedRow(index): Conversation {
      const sender = randomSender(random, index, lengthOf(index) - 1)
      const agent = random(purposes.agent, index)
      return {
        index,
        id: ids.idAt(index),
        visitorId: seed.visitorOf(random(purposes.visitor, index)),
        createdAt: time.startAt(index),
        lastMessageAt: lastAt(index),
        lastMessageSenderType: sender,
        handledAt: handledAt(index),
        waitingSince: handledAt(index) === null && sender === 'visitor' ? lastAt(index) : null,
        assignedAgentId: agent % 4 === 0 ? null : pick(agents, agent >>> 4),
        origin: pick(origins, random(purposes.origin, index)),
        updatedAt: timeOf('updatedAt', index),
      }
    },
  } satisfies SeedRows<Conversation, ConversationTime> & Record<string, unknown>
}

/** Of those that can be open six of seven are handled, some minutes after the last message. Too recent ones are open. */
function handledTime({ random, size, to }: SeedContext, index: number, lastAt: EpochMs): EpochMs | null {
  const draw = random(purposes.handled, index)
  const at = lastAt + (1 + (draw % 300)) * minuteMs
  const canBeOpen = size.openConversations ?? size.conversations
  if (index < size.conversations - canBeOpen) return Math.min(at, to)
  return draw % 7 === 0 || at > to ? null : at
}

function randomSender(random: Random, index: number, k: number): string {
  return k <= 0 ? 'visitor' : pick(senders, random(purposes.sender, index, k))
}

/** The first message opens the conversation, the last one is at its `lastMessageAt`, the others in order between them. */
function messageTimes({ random, switches }: SeedContext, index: number, length: number, from: EpochMs, to: EpochMs) {
  const usual = (k: number) => {
    if (k <= 0 || length < 2) return from
    if (k >= length - 1) return to
    return Math.floor(from + ((k + toUnitInterval(random(purposes.time, index, k + 2)) * 0.9) / length) * (to - from))
  }
  const size = Math.min(switches['storm.messages'], length)
  if (size < 2) return usual
  // A storm ends with the last message, so that paging meets it from either end.
  const second = Math.max(from, Math.floor(to / 1000) * 1000)
  const fraction = to - second
  return (k: number) => {
    const rank = k - (length - size)
    return rank < 0 ? Math.min(usual(k), second) : second + Math.floor((rank / Math.max(1, size - 1)) * fraction)
  }
}

function createMessage(seed: SeedContext, index: number, k: number, id: number, createdAt: EpochMs): Message {
  const { random, sampleText } = seed
  const senderType = randomSender(random, index, k)
  const draw = random(purposes.extra, index, k)
  const kind = senderType === 'system' ? pick(systemKinds, draw) : 'utterance'
  const content = kind === 'utterance' ? sampleText.sentence(index, k) : kind.replaceAll('_', ' ')
  return { id, senderType, kind, content, senderDisplayName: displayName(seed, senderType, index), createdAt }
}

function displayName({ random, sampleText }: SeedContext, senderType: string, index: number): string {
  if (senderType === 'visitor') return sampleText.personName(random(purposes.visitor, index) % 5000)
  if (senderType === 'agent') return sampleText.personName(1_000_000 + (index % 12))
  return senderType === 'ai' ? 'Assistant' : ''
}
