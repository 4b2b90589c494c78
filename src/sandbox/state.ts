/** The current data of a project: its seed data and all later changes. */
import type { EpochMs } from '../values/time.ts'
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
import { purposes } from './random.ts'
import { createRowStore } from './row-store.ts'
import { createRowIds } from './seed-context.ts'
import type { ConversationTime } from './seed-conversations.ts'
import type { CallTime, SeedData, VisitorTime } from './seed-data.ts'

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
    ...createMessages(seedData, clock),
    ...createActivity(seedData, clock),
    ...createNotes(seedData, clock),
  }
}

function createMessages(seedData: SeedData, clock: () => EpochMs) {
  const added = createLists<Message>()
  const edited = new Map<number, string>()
  let nextId = seedData.conversations.firstFreeMessageId
  return {
    messages({ index }: Conversation): Sequence<Message> {
      const seeded = index < seedData.conversations.count ? seedData.conversations.messages(index) : emptySequence
      const all = concatRows(seeded, added.of(index), (message) => message.createdAt)
      const editOf = (row: Message) => ({ ...row, content: edited.get(row.id) ?? row.content })
      return edited.size === 0 ? all : { ...all, rowAt: (k: number) => editOf(all.rowAt(k)) }
    },
    addMessage({ index, lastMessageAt }: Conversation, content: Omit<Message, 'id' | 'createdAt'>) {
      const message: Message = { ...content, id: nextId, createdAt: Math.max(clock(), lastMessageAt) }
      nextId += 1
      return added.append(index, message)
    },
    /** Replaces a message's text without changing any time. */
    editMessage: (id: number, content: string) => void edited.set(id, content),
  }
}

function createActivity({ activityOf, visitors }: SeedData, clock: () => EpochMs) {
  const added = createLists<Activity>()
  const edited = new Map<string, number>()
  const activity = ({ index }: Visitor): Sequence<Activity> => {
    const seeded = index < visitors.count ? activityOf(visitors.seedRow(index)) : emptySequence
    const all = concatRows(seeded, added.of(index), (entry) => entry.at)
    const editOf = (row: Activity) => ({
      ...row,
      variantSeed: edited.get(`${index}/${row.position}`) ?? row.variantSeed,
    })
    return edited.size === 0 ? all : { ...all, rowAt: (k: number) => editOf(all.rowAt(k)) }
  }
  return {
    activity,
    addActivity(visitor: Visitor, entry: Omit<Activity, 'at' | 'position'>) {
      const at = Math.max(clock(), visitor.lastSeenAt)
      return added.append(visitor.index, { ...entry, at, position: activity(visitor).length })
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

/** The rows that were added to each parent. */
function createLists<T>() {
  const lists = new Map<number, T[]>()
  return {
    of: (parent: number): readonly T[] => lists.get(parent) ?? [],
    append(parent: number, row: T): T {
      const rows = lists.get(parent) ?? []
      rows.push(row)
      lists.set(parent, rows)
      return row
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
