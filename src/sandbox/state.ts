/** The current data of a project: its seed data and all later changes. */
import type { EpochMs } from '../values/time.ts'
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
import { purposes } from './random.ts'
import { createRowStore } from './row-store.ts'
import { createRowIds } from './seed-context.ts'
import type { SeedData } from './seed-data.ts'

export type ProjectState = ReturnType<typeof createProjectState>

export function createProjectState(seedData: SeedData, clock: () => EpochMs) {
  const { conversations, visitors, calls } = seedData
  return {
    seedData,
    clock,
    conversations: createRowStore<Conversation, ConversationTime>(conversations, 'updatedAt', clock),
    visitors: createRowStore<Visitor, VisitorTime>(visitors, 'updatedAt', clock),
    calls: createRowStore<PhoneCall, CallTime>(calls, 'endedAt', clock),
    ...createMessages(seedData, clock),
    ...createActivity(seedData, clock),
    ...createNotes(seedData, clock),
  }
}

/** Adds to the list of a parent. */
function append<T>(lists: Map<number, T[]>, parent: number, row: T): T {
  lists.set(parent, [...(lists.get(parent) ?? []), row])
  return row
}

function createMessages({ conversations }: SeedData, clock: () => EpochMs) {
  const added = new Map<number, Message[]>()
  const edited = new Map<number, string>()
  let nextId = conversations.firstFreeMessageId
  return {
    /** Oldest first. */
    messages({ index }: Conversation): readonly Message[] {
      const seeded = index < conversations.count ? conversations.messages(index) : []
      const all = [...seeded, ...(added.get(index) ?? [])]
      return all.map((row) => ({ ...row, content: edited.get(row.id) ?? row.content }))
    },
    addMessage({ index, lastMessageAt }: Conversation, content: Omit<Message, 'id' | 'createdAt'>) {
      nextId += 1
      return append(added, index, { ...content, id: nextId - 1, createdAt: Math.max(clock(), lastMessageAt) })
    },
    /** Replaces a message's text without changing any time. */
    editMessage: (id: number, content: string) => void edited.set(id, content),
  }
}

function createActivity({ activityOf, visitors }: SeedData, clock: () => EpochMs) {
  const added = new Map<number, Activity[]>()
  const edited = new Map<string, number>()
  /** Oldest first. */
  const activity = ({ index }: Visitor): readonly Activity[] => {
    const seeded = index < visitors.count ? activityOf(visitors.seedRow(index)) : []
    const all = [...seeded, ...(added.get(index) ?? [])]
    return all.map((row) => ({ ...row, variantSeed: edited.get(`${index}/${row.position}`) ?? row.variantSeed }))
  }
  return {
    activity,
    addActivity(visitor: Visitor, entry: Omit<Activity, 'at' | 'position'>) {
      const at = Math.max(clock(), visitor.lastSeenAt)
      return append(added, visitor.index, { ...entry, at, position: activity(visitor).length })
    },
    /** Changes the undocumented fields of an entry without changing any time. */
    editActivity: ({ index }: Visitor, position: number, variantSeed: number) =>
      void edited.set(`${index}/${position}`, variantSeed),
  }
}

function createNotes({ random }: SeedData, clock: () => EpochMs) {
  const ids = createRowIds(random, purposes.entry)
  const notes: { readonly id: string; readonly visitorId: string; readonly content: string; createdAt: EpochMs }[] = []
  return {
    notes,
    addNote({ id: visitorId }: Visitor, content: string) {
      const note = { id: ids.idAt(notes.length), visitorId, content, createdAt: clock() }
      notes.push(note)
      return note
    },
  }
}
