/** The current data of a project: its seed data and all later changes. */
import type { EpochMs } from '../values/time.ts'
import type { Activity, Conversation, Message, Visitor } from './model.ts'
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
    conversations: createRowStore(conversations, 'updatedAt', clock),
    visitors: createRowStore(visitors, 'updatedAt', clock),
    calls: createRowStore(calls, 'endedAt', clock),
    ...createMessages(seedData, clock),
    ...createActivity(seedData, clock),
    ...createNotes(seedData, clock),
  }
}

/** Oldest first: those of the seed, later ones, and what was changed or removed of either. */
function createChildren<Parent extends { readonly index: number }, Row>(
  seeded: (parent: Parent) => readonly Row[],
) {
  const added = new Map<number, Row[]>()
  const edited = new Map<string, Partial<Row>>()
  const removed = new Set<string>()
  const everAdded = (parent: Parent): readonly Row[] => [
    ...seeded(parent),
    ...(added.get(parent.index) ?? []),
  ]
  return {
    of: (parent: Parent): readonly Row[] => {
      const all = everAdded(parent)
      const shown =
        edited.size === 0
          ? all
          : all.map((row, k) => ({ ...row, ...edited.get(`${parent.index}/${k}`) }))
      return removed.size === 0
        ? shown
        : shown.filter((_, k) => !removed.has(`${parent.index}/${k}`))
    },
    /** How many there were, with those that were removed. */
    countEver: (parent: Parent): number => everAdded(parent).length,
    add({ index }: Parent, row: Row): Row {
      added.set(index, [...(added.get(index) ?? []), row])
      return row
    },
    /** Changes the `k`-th without changing any time. */
    edit: ({ index }: Parent, k: number, patch: Partial<Row>) =>
      void edited.set(`${index}/${k}`, patch),
    /** Removes the `k`-th, of those that there ever were. */
    remove: ({ index }: Parent, k: number) => void removed.add(`${index}/${k}`),
    restore: ({ index }: Parent, k: number) => void removed.delete(`${index}/${k}`),
  }
}

function createMessages({ conversations }: SeedData, clock: () => EpochMs) {
  const { of, add, edit, remove, restore, countEver } = createChildren<Conversation, Message>(
    ({ index }) => (index < conversations.count ? conversations.messages(index) : []),
  )
  let nextId = conversations.firstFreeMessageId
  return {
    messages: of,
    addMessage(conversation: Conversation, content: Omit<Message, 'id' | 'createdAt'>) {
      const createdAt = Math.max(clock(), conversation.lastMessageAt)
      return add(conversation, { ...content, id: nextId++, createdAt })
    },
    editMessage: edit,
    removeMessage: remove,
    restoreMessage: restore,
    countMessages: countEver,
  }
}

function createActivity({ activityOf, visitors }: SeedData, clock: () => EpochMs) {
  const { of, add, edit, remove, countEver } = createChildren<Visitor, Activity>((visitor) =>
    visitor.index < visitors.count ? activityOf(visitors.seedRow(visitor.index)) : [],
  )
  return {
    activity: of,
    addActivity(visitor: Visitor, entry: Omit<Activity, 'at' | 'position'>) {
      const at = Math.max(clock(), visitor.lastSeenAt)
      return add(visitor, { ...entry, at, position: countEver(visitor) })
    },
    editActivity: edit,
    removeActivity: remove,
  }
}

function createNotes({ random }: SeedData, clock: () => EpochMs) {
  const ids = createRowIds(random, purposes.entry)
  const notes: {
    readonly id: string
    readonly visitorId: string
    readonly content: string
    createdAt: EpochMs
  }[] = []
  return {
    notes,
    addNote({ id: visitorId }: Visitor, content: string) {
      const note = { id: ids.idAt(notes.length), visitorId, content, createdAt: clock() }
      notes.push(note)
      return note
    },
  }
}
