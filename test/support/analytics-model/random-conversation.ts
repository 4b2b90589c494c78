/** A random conversation with its messages, and how it was handled, reopened and looked at. */
import type { RandomChoices } from './random-choices.ts'
import {
  type MessageRow,
  type ProjectRows,
  type RawConversation,
  seconds,
  toTime,
} from './raw-rows.ts'

const deletedAt = '2025-12-01T00:00:00Z'

/** Adds a conversation and its messages to the rows. */
export function randomConversation(
  id: string,
  around: number,
  rows: ProjectRows,
  random: RandomChoices,
): RawConversation {
  const { chance, int, pick } = random
  const conversation: RawConversation = {
    id,
    visitor_id: pick(['visitor-1', 'visitor-2', null]),
    origin: pick(['visitor_initiated', 'email', null]),
    assigned_agent_id: pick(['agent-1', null]),
    created_at: chance(0.05) ? null : toTime(around + int(-90_000, 90_000)),
    handled_at: null,
    last_message_at: null,
    deleted_at: chance(0.07) ? deletedAt : null,
    messages_complete: pick([true, true, true, true, false, null]),
  }
  rows.conversations.push(conversation)
  // Medians are of complete conversations, so most have nothing unknown.
  const senders = chance(0.3) ? [...knownSenders, 'stranger', 'helper', null] : knownSenders
  let at = conversation.created_at === null ? around : seconds(conversation.created_at)
  const count = int(0, 11)
  for (let n = 0; n < count; n++) {
    at += pick([0, 0, 1, 59, 60, 61, 600, 600, 4000, 30_000, -5])
    rows.messages.push(randomMessage(conversation, n, at, pick(senders), random))
  }
  return conversation
}

const knownSenders = ['visitor', 'visitor', 'visitor', 'agent', 'agent', 'ai', 'system'] as const

function randomMessage(
  conversation: RawConversation,
  n: number,
  at: number,
  sender: string | null,
  random: RandomChoices,
): MessageRow {
  const { chance } = random
  const eventKind = sender === 'system' ? 'joined' : null
  const kind = chance(0.06) ? 'note' : chance(0.02) ? null : 'utterance'
  return {
    conversation_id: conversation.id,
    // Mostly ascending: an id in the thousands belongs to an early message.
    id: chance(0.15) ? 1000 - n : n + 1,
    sender_type: sender,
    kind: eventKind ?? kind,
    sender_display_name: randomName(sender, random),
    created_at: chance(0.02) ? null : toTime(at),
    deleted_at: conversation.deleted_at ?? (chance(0.04) ? deletedAt : null),
  }
}

function randomName(sender: string | null, { pick }: RandomChoices): string | null {
  if (sender === 'agent') return pick(['Anna', 'Ben', null])
  return sender === 'visitor' ? 'Visitor' : pick(['Assistant', ''])
}

/**
 * Handled and reopened some times. A sync looks after some of these, and always at the end: only
 * then it is seen.
 */
export function handleAndReopen(
  conversation: RawConversation,
  around: number,
  rows: ProjectRows,
  random: RandomChoices,
): void {
  const { chance, int } = random
  const seenBefore = rows.changes.filter(
    ({ conversation_id }) => conversation_id === conversation.id,
  )
  let lastSeen = Math.max(0, ...seenBefore.map(({ seen_at }) => seconds(seen_at)))
  let at =
    (conversation.created_at === null ? around : seconds(conversation.created_at)) +
    int(-2000, 40_000)
  let handledAt = conversation.handled_at
  // The first look has nothing to compare with.
  let isMirrored = seenBefore.length > 0 || chance(0.7)
  const namesLastMessage = conversation.last_message_at !== null || chance(0.6)
  const look = () => {
    // Our clock may be behind that of the service.
    lastSeen = Math.max(lastSeen + 1, at + int(-60, 300))
    const lastMessageAt = namesLastMessage ? lastMessageUntil(conversation, at, rows) : null
    if (isMirrored) {
      recordChange(conversation, 'last_message_at', lastMessageAt, lastSeen, rows)
      recordChange(conversation, 'handled_at', handledAt, lastSeen, rows)
    }
    conversation.last_message_at = lastMessageAt
    conversation.handled_at = handledAt
    isMirrored = true
  }
  for (let steps = int(0, 4); steps > 0; steps--) {
    handledAt = handledAt === null || chance(0.2) ? toTime(at) : null
    if (chance(0.7)) look()
    at += int(10, 20_000)
  }
  look()
}

function lastMessageUntil({ id }: RawConversation, at: number, rows: ProjectRows): string | null {
  const times = rows.messages.flatMap(({ conversation_id, created_at }) =>
    conversation_id === id && created_at !== null && seconds(created_at) <= at ? [created_at] : [],
  )
  return times.sort().at(-1) ?? null
}

/** Changes of one moment are those of one copy. */
export function recordChange(
  conversation: RawConversation,
  field: 'handled_at' | 'last_message_at' | 'assigned_agent_id',
  value: string | null,
  seenAt: number,
  rows: ProjectRows,
): void {
  if (conversation[field] === value) return
  const previous = rows.changes.findLast(
    ({ conversation_id, seen_at }) =>
      conversation_id === conversation.id && seen_at !== toTime(seenAt),
  )
  rows.changes.push({
    id: `change-${String(rows.changes.length).padStart(4, '0')}`,
    conversation_id: conversation.id,
    field,
    old_value: conversation[field],
    new_value: value,
    seen_at: toTime(seenAt),
    old_read_at: previous?.seen_at ?? toTime(0),
  })
}
