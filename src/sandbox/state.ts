/** What one project holds now: its seeded past, and all that has happened since. */
import type { EpochMs } from '../core/time.ts'
import type { Activity, Conversation, Message, Note, PhoneCall, Sequence, Visitor } from './model.ts'
import type { CallTime } from './past/calls.ts'
import type { ConversationTime } from './past/conversations.ts'
import { purposes } from './past/dice.ts'
import { type Identity, identity } from './past/identity.ts'
import type { VisitorTime } from './past/visitors.ts'
import type { World } from './past/world.ts'
import { type Shelf, shelf } from './shelf.ts'

export type State = {
  readonly world: World
  readonly clock: () => EpochMs
  readonly conversations: Shelf<Conversation, ConversationTime>
  readonly visitors: Shelf<Visitor, VisitorTime>
  readonly calls: Shelf<PhoneCall, CallTime>
  readonly identities: { readonly conversation: Identity; readonly visitor: Identity; readonly call: Identity }
  readonly messages: (conversation: Conversation) => Sequence<Message>
  readonly addMessage: (conversation: Conversation, message: Omit<Message, 'id' | 'createdAt'>) => Message
  /** Replaces a message's text. Nothing else shows that it changed. */
  readonly editMessage: (messageId: number, content: string) => void
  readonly activity: (visitor: Visitor) => Sequence<Activity>
  readonly addActivity: (visitor: Visitor, entry: Omit<Activity, 'at'>) => Activity
  readonly notes: () => readonly Note[]
  readonly addNote: (visitor: Visitor, content: string) => Note
}

export function stateOf(world: World, clock: () => EpochMs): State {
  const conversations = shelf<Conversation, ConversationTime>({
    ...sourceOf(world.conversations),
    timeOf: (field, row) => row[field],
    baseSince: (index) => world.conversations.timeOf('updatedAt', index),
    clock,
  })
  const visitors = shelf<Visitor, VisitorTime>({
    ...sourceOf(world.visitors),
    timeOf: (field, row) => row[field],
    baseSince: (index) => world.visitors.timeOf('updatedAt', index),
    clock,
  })
  const calls = shelf<PhoneCall, CallTime>({
    ...sourceOf(world.calls),
    timeOf: (field, row) => row[field],
    baseSince: (index) => world.calls.timeOf('endedAt', index),
    clock,
  })
  return {
    world,
    clock,
    conversations,
    visitors,
    calls,
    identities: {
      conversation: world.conversations.identity,
      visitor: world.visitors.identity,
      call: world.calls.identity,
    },
    ...messagesIn(world, clock),
    ...activityIn(world, clock),
    ...notesIn(world, clock),
  }
}

function sourceOf<T, Field>(part: {
  count: number
  identity: Identity
  base: (index: number) => T
  timeOf: (field: Field, index: number) => EpochMs
}) {
  return { count: part.count, identity: part.identity, base: part.base, baseTime: part.timeOf }
}

function messagesIn(world: World, clock: () => EpochMs) {
  const added = new Map<number, Message[]>()
  const edited = new Map<number, string>()
  let nextId = world.conversations.firstFreeMessageId
  const messages = ({ index }: Conversation) => {
    const past = index < world.conversations.count ? world.conversations.messages(index) : nothing
    const all = joined(past, added.get(index) ?? [], (message) => message.createdAt)
    return edited.size === 0 ? all : { ...all, rowAt: (k: number) => withEdit(all.rowAt(k), edited) }
  }
  return {
    messages,
    addMessage({ index, lastMessageAt }: Conversation, content: Omit<Message, 'id' | 'createdAt'>) {
      const message = { ...content, id: nextId, createdAt: Math.max(clock(), lastMessageAt) }
      nextId += 1
      append(added, index, message)
      return message
    },
    editMessage: (id: number, content: string) => {
      edited.set(id, content)
    },
  }
}

function activityIn(world: World, clock: () => EpochMs) {
  const added = new Map<number, Activity[]>()
  return {
    activity(visitor: Visitor) {
      const past =
        visitor.index < world.visitors.count ? world.activities.of(world.visitors.base(visitor.index)) : nothing
      return joined(past, added.get(visitor.index) ?? [], (entry) => entry.at)
    },
    addActivity({ index, lastSeenAt }: Visitor, entry: Omit<Activity, 'at'>) {
      const whole = { ...entry, at: Math.max(clock(), lastSeenAt) }
      append(added, index, whole)
      return whole
    },
  }
}

function notesIn(world: World, clock: () => EpochMs) {
  const ids = identity(world.dice, purposes.entry)
  const notes: Note[] = []
  return {
    notes: () => notes,
    addNote(visitor: Visitor, content: string) {
      const note = { id: ids.of(notes.length), visitorId: visitor.id, content, createdAt: clock() }
      notes.push(note)
      return note
    },
  }
}

const nothing: Sequence<never> = {
  length: 0,
  timeAt: () => 0,
  rowAt: () => {
    throw new Error('an empty sequence has no rows')
  },
}

function joined<T>(past: Sequence<T>, added: readonly T[], timeOf: (row: T) => EpochMs): Sequence<T> {
  if (added.length === 0) return past
  const rowAt = (k: number) => {
    const row = k < past.length ? past.rowAt(k) : added[k - past.length]
    if (row === undefined) throw new Error(`there is no row ${k}`)
    return row
  }
  const timeAt = (k: number) => (k < past.length ? past.timeAt(k) : timeOf(rowAt(k)))
  return { length: past.length + added.length, timeAt, rowAt }
}

function withEdit(message: Message, edited: ReadonlyMap<number, string>): Message {
  const content = edited.get(message.id)
  return content === undefined ? message : { ...message, content }
}

function append<T>(map: Map<number, T[]>, key: number, value: T): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
