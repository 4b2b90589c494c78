/** Visitors of the seed data. */
import type { Visitor } from '../model.ts'
import type { SeedRows } from '../row-store.ts'
import { purposes, type Random } from './random.ts'
import type { RowIds } from './row-ids.ts'
import type { SampleText } from './sample-text.ts'
import type { Timeline } from './timeline.ts'

export type VisitorTime = 'createdAt' | 'lastSeenAt' | 'updatedAt'

type VisitorParts = {
  readonly random: Random
  readonly sampleText: SampleText
  readonly count: number
  readonly ids: RowIds
  readonly time: Timeline
}

const hourMs = 3_600_000

export function createVisitors({ random, sampleText, count, ids, time }: VisitorParts): SeedRows<Visitor, VisitorTime> {
  const lastSeenAt = (index: number) => time.endAt(index, (random(purposes.time, index, 7) % 400) * hourMs)
  const timeOf = (field: VisitorTime, index: number) =>
    field === 'createdAt' ? time.startAt(index) : lastSeenAt(index)
  return {
    count,
    ids,
    timeOf,
    seedRow: (index) => ({
      index,
      id: ids.idAt(index),
      ...randomContact(random, sampleText, index),
      createdAt: time.startAt(index),
      lastSeenAt: lastSeenAt(index),
      updatedAt: lastSeenAt(index),
    }),
  }
}

/** Every fourth visitor has no email, every ninth no name. */
function randomContact(random: Random, sampleText: SampleText, index: number) {
  const draw = random(purposes.person, index, 2)
  return {
    name: draw % 9 === 0 ? null : sampleText.personName(index),
    email: draw % 4 === 0 ? null : `visitor.${index}+${draw % 97}@example.org`,
  }
}
