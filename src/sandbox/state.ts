/** The current data of a project: its seed data and all later changes. */
import type { EpochMs } from '../values/time.ts'
import type { Activity, Conversation, Message, Visitor } from './model.ts'
import { createRowStore } from './row-store.ts'
import type { SeedData } from './seed-data.ts'

export type ProjectState = ReturnType<typeof createProjectState>

export function createProjectState(seedData: SeedData, clock: () => EpochMs) {
  const { conversations, visitors, calls, activityOf } = seedData
  return {
    seedData,
    clock,
    conversations: createRowStore(conversations, 'updatedAt', clock),
    visitors: createRowStore(visitors, 'updatedAt', clock),
    calls: createRowStore(calls, 'endedAt', clock),
    messages: createChildren<Conversation, Message>(({ index }) =>
      index < conversations.count ? conversations.messages(index) : [],
    ),
    activity: createChildren<Visitor, Activity>(({ index }) =>
      index < visitors.count ? activityOf(visitors.seedRow(index)) : [],
    ),
    notes: [] as {
      readonly id: string
      readonly visitorId: string
      readonly content: string
      readonly createdAt: EpochMs
    }[],
  }
}

/** Oldest first: those of the seed, later ones, and what was changed or removed of either. */
function createChildren<Parent extends { readonly index: number }, Row>(
  seeded: (parent: Parent) => readonly Row[],
) {
  const added = new Map<number, Row[]>()
  const edited = new Map<string, Partial<Row>>()
  const removed = new Set<string>()
  let addedCount = 0
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
    /** Of all parents, without those of the seed. */
    countAdded: () => addedCount,
    add({ index }: Parent, row: Row): Row {
      added.set(index, [...(added.get(index) ?? []), row])
      addedCount += 1
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
