/** The current data of a project: its seed data and all later changes. */
import type { EpochMs } from '../core/time.ts'
import {
  type Activity,
  type Conversation,
  emptySequence,
  type Message,
  type Note,
  type PhoneCall,
  type Sequence,
  type Visitor,
} from './model.ts'
import { createRowStore } from './row-store.ts'
import type { CallTime } from './seed/calls.ts'
import type { ConversationTime } from './seed/conversations.ts'
import { purposes } from './seed/random.ts'
import { createRowIds } from './seed/row-ids.ts'
import type { SeedData } from './seed/seed-data.ts'
import type { VisitorTime } from './seed/visitors.ts'

export type ProjectState = ReturnType<typeof createProjectState>

export function createProjectState(seedData: SeedData, clock: () => EpochMs) {
  const conversations = createRowStore<Conversation, ConversationTime>(seedData.conversations, 'updatedAt', clock)
  const visitors = createRowStore<Visitor, VisitorTime>(seedData.visitors, 'updatedAt', clock)
  const calls = createRowStore<PhoneCall, CallTime>(seedData.calls, 'endedAt', clock)
  return {
    seedData,
    clock,
    conversations,
    visitors,
    calls,
    identities: { conversation: seedData.conversations.ids, visitor: seedData.visitors.ids, call: seedData.calls.ids },
    ...createMessages(seedData, clock),
    ...createActivity(seedData, clock),
    ...createNotes(seedData, clock),
  }
}

function createMessages(seedData: SeedData, clock: () => EpochMs) {
  const added = new Map<number, Message[]>()
  const edited = new Map<number, string>()
  let nextId = seedData.conversations.firstFreeMessageId
  const messages = ({ index }: Conversation): Sequence<Message> => {
    const seeded = index < seedData.conversations.count ? seedData.conversations.messages(index) : emptySequence
    const all = concatRows(seeded, added.get(index) ?? [], (message) => message.createdAt)
    return edited.size === 0 ? all : { ...all, rowAt: (k: number) => withEdit(all.rowAt(k), edited) }
  }
  return {
    messages,
    addMessage({ index, lastMessageAt }: Conversation, content: Omit<Message, 'id' | 'createdAt'>) {
      const message: Message = { ...content, id: nextId, createdAt: Math.max(clock(), lastMessageAt) }
      nextId += 1
      append(added, index, message)
      return message
    },
    /** Replaces a message's text without changing any time. */
    editMessage: (id: number, content: string) => void edited.set(id, content),
  }
}

function createActivity({ activityOf, visitors }: SeedData, clock: () => EpochMs) {
  const entriesAdded = new Map<number, Activity[]>()
  const edited = new Map<string, number>()
  const activity = ({ index }: Visitor): Sequence<Activity> => {
    const seeded = index < visitors.count ? activityOf(visitors.seedRow(index)) : emptySequence
    const all = concatRows(seeded, entriesAdded.get(index) ?? [], (entry) => entry.at)
    if (edited.size === 0) return all
    const rowAt = (k: number) => {
      const row = all.rowAt(k)
      return { ...row, variantSeed: edited.get(`${index}/${row.position}`) ?? row.variantSeed }
    }
    return { ...all, rowAt }
  }
  return {
    activity,
    addActivity(visitor: Visitor, entry: Omit<Activity, 'at' | 'position'>) {
      const at = Math.max(clock(), visitor.lastSeenAt)
      const added: Activity = { ...entry, at, position: activity(visitor).length }
      append(entriesAdded, visitor.index, added)
      return added
    },
    /** Changes the undocumented fields of an entry without changing any time. */
    editActivity: ({ index }: Visitor, position: number, variantSeed: number) =>
      void edited.set(`${index}/${position}`, variantSeed),
  }
}

function createNotes(seedData: SeedData, clock: () => EpochMs) {
  const ids = createRowIds(seedData.random, purposes.entry)
  const notes: Note[] = []
  return {
    notes: (): readonly Note[] => notes,
    addNote(visitor: Visitor, content: string) {
      const note: Note = { id: ids.idAt(notes.length), visitorId: visitor.id, content, createdAt: clock() }
      notes.push(note)
      return note
    },
  }
}

function concatRows<T>(seeded: Sequence<T>, added: readonly T[], timeOf: (row: T) => EpochMs): Sequence<T> {
  if (added.length === 0) return seeded
  const rowAt = (k: number) => {
    const row = k < seeded.length ? seeded.rowAt(k) : added[k - seeded.length]
    if (row === undefined) throw new Error(`there is no row ${k}`)
    return row
  }
  const timeAt = (k: number) => (k < seeded.length ? seeded.timeAt(k) : timeOf(rowAt(k)))
  return { length: seeded.length + added.length, timeAt, rowAt }
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
