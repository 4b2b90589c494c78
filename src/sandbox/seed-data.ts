/** The seed data of a project: any number of rows, created on access and not kept. */
import { type EpochMs, hourMs, type Ms, minuteMs } from '../values/time.ts'
import type {
  Activity,
  CallTime,
  Conversation,
  ConversationTime,
  Message,
  PhoneCall,
  Visitor,
  VisitorTime,
} from './model.ts'
import { integerBetween, pick, purposes, type SeededRandom, toUnitInterval } from './random.ts'
import type { SeedRows } from './row-store.ts'
import { createSeedContext, type SeedContext, type SeedOptions, toRange } from './seed-context.ts'
import type { Switches } from './switches.ts'

export type SeedData = ReturnType<typeof createSeedData>

export function createSeedData(options: SeedOptions, switches: Switches) {
  const seed = createSeedContext(options, switches)
  return {
    random: seed.random,
    sampleText: seed.sampleText,
    conversations: createConversations(seed),
    visitors: createVisitors(seed),
    activityOf: createActivities(seed),
    calls: createCalls(seed),
  }
}

const origins = [
  ...Array(3).fill('visitor_initiated'),
  'agent_initiated',
  'email',
  'phone_callback',
]
const senders = 'visitor visitor visitor visitor agent agent agent ai ai system'.split(' ')
const systemKinds = [
  'agent_joined',
  'agent_left',
  'conversation_assigned',
  'csat_requested',
  'transfer',
]
const agents = Array.from({ length: 12 }, (_, n) => `agt_${(n * 7919 + 4096).toString(36)}`)

function createConversations(seed: SeedContext) {
  const { random, size, createIds, createLine } = seed
  const ids = createIds('conversation')
  const time = createLine('conversation')
  const [low, high] = toRange(size.messagesPerConversation)
  const shortShare = size.shortConversations ?? 0
  const lengthOf = (index: number) => {
    const share = toUnitInterval(random(purposes.size, purposes.conversation, index))
    return share < shortShare
      ? low
      : low + Math.floor(((share - shortShare) / (1 - shortShare)) * (high - low + 1))
  }
  const spanOf = (index: number): Ms =>
    lengthOf(index) < 2
      ? 0
      : (1 + (random(purposes.time, index, 1) % 40)) * minuteMs * lengthOf(index)
  const lastAt = (index: number) => time.endAt(index, spanOf(index))
  const handledAt = (index: number) => handledTime(seed, index, lastAt(index))
  const timeOf = (field: ConversationTime, index: number) => {
    if (field === 'createdAt') return time.startAt(index)
    return field === 'lastMessageAt'
      ? lastAt(index)
      : Math.max(lastAt(index), handledAt(index) ?? 0)
  }
  return {
    count: size.conversations,
    ids,
    timeOf,
    messages(index: number): Message[] {
      const length = lengthOf(index)
      const timeAt = messageTimes(seed, index, length, time.startAt(index), lastAt(index))
      return Array.from({ length }, (_, k) =>
        createMessage(seed, index, k, index * high + k + 1, timeAt(k)),
      )
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

/** Six of seven that can be open, some minutes after the last message, if not too recent. */
function handledTime(
  { random, size, to }: SeedContext,
  index: number,
  lastAt: EpochMs,
): EpochMs | null {
  const draw = random(purposes.handled, index)
  const at = lastAt + (1 + (draw % 300)) * minuteMs
  const canBeOpen = size.openConversations ?? size.conversations
  if (index < size.conversations - canBeOpen) return Math.min(at, to)
  return draw % 7 === 0 || at > to ? null : at
}

function randomSender(random: SeededRandom, index: number, k: number): string {
  return k <= 0 ? 'visitor' : pick(senders, random(purposes.sender, index, k))
}

/** The first message opens the conversation, the last is at `lastMessageAt`. */
function messageTimes(
  { random, switches }: SeedContext,
  index: number,
  length: number,
  from: EpochMs,
  to: EpochMs,
) {
  const usual = (k: number) => {
    if (k <= 0 || length < 2) return from
    if (k >= length - 1) return to
    return Math.floor(
      from +
        ((k + toUnitInterval(random(purposes.time, index, k + 2)) * 0.9) / length) * (to - from),
    )
  }
  const size = Math.min(switches['storm.messages'], length)
  if (size < 2) return usual
  // A storm ends with the last message, so that paging meets it from either end.
  const second = Math.max(from, Math.floor(to / 1000) * 1000)
  const fraction = to - second
  return (k: number) => {
    const rank = k - (length - size)
    return rank < 0
      ? Math.min(usual(k), second)
      : second + Math.floor((rank / Math.max(1, size - 1)) * fraction)
  }
}

function createMessage(
  seed: SeedContext,
  index: number,
  k: number,
  id: number,
  createdAt: EpochMs,
): Message {
  const { random, sampleText } = seed
  const senderType = randomSender(random, index, k)
  const draw = random(purposes.extra, index, k)
  const kind = senderType === 'system' ? pick(systemKinds, draw) : 'utterance'
  const content = kind === 'utterance' ? sampleText.sentence(index, k) : kind.replaceAll('_', ' ')
  return {
    id,
    senderType,
    kind,
    content,
    senderDisplayName: displayName(seed, senderType, index),
    createdAt,
  }
}

function displayName(
  { random, sampleText }: SeedContext,
  senderType: string,
  index: number,
): string {
  if (senderType === 'visitor') return sampleText.personName(random(purposes.visitor, index) % 5000)
  if (senderType === 'agent') return sampleText.personName(1_000_000 + (index % 12))
  return senderType === 'ai' ? 'Assistant' : ''
}

function createVisitors({ random, sampleText, size, visitorIds, createLine }: SeedContext) {
  const time = createLine('visitor')
  const lastSeenAt = (index: number) =>
    time.endAt(index, (random(purposes.time, index, 7) % 400) * hourMs)
  return {
    count: size.visitors,
    ids: visitorIds,
    timeOf: (field, index) => (field === 'createdAt' ? time.startAt(index) : lastSeenAt(index)),
    /** Every fourth visitor has no email, every ninth no name. */
    seedRow(index) {
      const draw = random(purposes.person, index, 2)
      return {
        index,
        id: visitorIds.idAt(index),
        name: draw % 9 === 0 ? null : sampleText.personName(index),
        email: draw % 4 === 0 ? null : `visitor.${index}+${draw % 97}@example.org`,
        createdAt: time.startAt(index),
        lastSeenAt: lastSeenAt(index),
        updatedAt: lastSeenAt(index),
      }
    },
  } satisfies SeedRows<Visitor, VisitorTime>
}

const activityKinds =
  'page_view page_view page_view form_submitted chat_opened file_downloaded signed_in'.split(' ')

/** Some entries are exact copies of the previous one, unless they have ids. */
function createActivities({ random, size, switches }: SeedContext) {
  const [low, high] = toRange(size.activityPerVisitor)
  return (visitor: Visitor): Activity[] => {
    const length = integerBetween(low, high, random(purposes.size, purposes.entry, visitor.index))
    const span = visitor.lastSeenAt - visitor.createdAt
    const lastSecond = Math.floor(visitor.lastSeenAt / 1000) * 1000
    const stormSize = Math.min(switches['storm.activity'], length)
    // Odd entries may repeat the even one before them exactly.
    const original = (k: number) =>
      k % 2 === 1 && random(purposes.entry, visitor.index, k) % 9 === 0 ? k - 1 : k
    const timeAt = (k: number) => {
      const at = original(k)
      if (length - at <= stormSize) return lastSecond
      const share =
        (at + toUnitInterval(random(purposes.time, visitor.index, at + 100)) * 0.9) / length
      return Math.min(Math.floor(visitor.createdAt + share * span), lastSecond)
    }
    return Array.from({ length }, (_, k) => {
      const draw = random(purposes.extra, visitor.index, original(k))
      return { kind: pick(activityKinds, draw), at: timeAt(k), variantSeed: draw, position: k }
    })
  }
}

const callOutcomes = ['completed', 'completed', 'completed', 'missed', 'voicemail', 'failed']

function createCalls({ random, size, switches, visitorOf, createIds, createLine }: SeedContext) {
  const ids = createIds('call')
  const time = createLine('call')
  const outcome = (index: number) => pick(callOutcomes, random(purposes.outcome, index))
  const takesMs = switches['calls.seconds'] * 1000
  const usualEnd = (index: number) =>
    time.endAt(
      index,
      outcome(index) === 'missed' ? 0 : (5 + (random(purposes.time, index, 9) % 3600)) * 1000,
    )
  const endedAt = (index: number) =>
    takesMs === 0 ? usualEnd(index) : time.startAt(index) + takesMs
  const recorded = (index: number) =>
    outcome(index) === 'completed' && random(purposes.recording, index) % 4 !== 0
  return {
    count: size.calls,
    ids,
    timeOf: (field, index) => (field === 'startedAt' ? time.startAt(index) : endedAt(index)),
    seedRow: (index) => ({
      index,
      id: ids.idAt(index),
      visitorId: visitorOf(random(purposes.visitor, index, 1)),
      startedAt: time.startAt(index),
      endedAt: endedAt(index),
      outcome: outcome(index),
      recordedAt: recorded(index) ? endedAt(index) + 1000 : null,
    }),
  } satisfies SeedRows<PhoneCall, CallTime>
}
