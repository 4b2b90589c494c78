/** Visitors of the seeded past. */
import type { EpochMs } from '../../core/time.ts'
import type { Visitor } from '../model.ts'
import { type Dice, purposes } from './dice.ts'
import type { Identity } from './identity.ts'
import type { Phrases } from './phrases.ts'
import type { Timeline } from './timeline.ts'

export type VisitorTime = 'createdAt' | 'lastSeenAt' | 'updatedAt'

export type Visitors = {
  readonly count: number
  readonly identity: Identity
  readonly base: (index: number) => Visitor
  readonly timeOf: (field: VisitorTime, index: number) => EpochMs
}

export type VisitorParts = {
  readonly dice: Dice
  readonly phrases: Phrases
  readonly count: number
  readonly ids: Identity
  readonly time: Timeline
}

const hourMs = 3_600_000

export function visitors({ dice, phrases, count, ids, time }: VisitorParts): Visitors {
  const lastSeenAt = (index: number) => time.after(index, (dice(purposes.time, index, 7) % 400) * hourMs)
  const timeOf = (field: VisitorTime, index: number) =>
    field === 'createdAt' ? time.startOf(index) : lastSeenAt(index)
  return {
    count,
    identity: ids,
    timeOf,
    base: (index) => ({
      index,
      id: ids.of(index),
      ...contact(dice, phrases, index),
      createdAt: time.startOf(index),
      lastSeenAt: lastSeenAt(index),
      updatedAt: lastSeenAt(index),
    }),
  }
}

/** Every fourth visitor never gave an email, every ninth no name either. */
function contact(dice: Dice, phrases: Phrases, index: number) {
  const thrown = dice(purposes.person, index, 2)
  return {
    name: thrown % 9 === 0 ? null : phrases.personName(index),
    email: thrown % 4 === 0 ? null : `visitor.${index}+${thrown % 97}@example.org`,
  }
}
