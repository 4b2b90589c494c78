/** What visitors did in the seeded past. Entries have no id, and some are exact copies of the one before. */

import type { Activity, Sequence, Visitor } from '../model.ts'
import { integerBetween, type Random, pick, purposes, toUnitInterval } from './random.ts'

export type Activities = { readonly of: (visitor: Visitor) => Sequence<Activity> }

const activityKinds = ['page_view', 'page_view', 'page_view', 'form_submitted', 'chat_opened', 'file_downloaded', 'signed_in']

export function createActivities(random: Random, [low, high]: readonly [number, number], storm: number): Activities {
  const of = (visitor: Visitor): Sequence<Activity> => {
    const length = integerBetween(low, high, random(purposes.size, purposes.entry, visitor.index))
    const span = visitor.lastSeenAt - visitor.createdAt
    const stormy = Math.min(storm, length)
    // Odd entries may repeat the even one before them, whole.
    const original = (k: number) => (k % 2 === 1 && random(purposes.entry, visitor.index, k) % 9 === 0 ? k - 1 : k)
    const timeAt = (k: number) => {
      const at = original(k)
      if (length - at <= stormy) return Math.floor(visitor.lastSeenAt / 1000) * 1000
      const share = (at + toUnitInterval(random(purposes.time, visitor.index, at + 100)) * 0.9) / length
      return Math.min(Math.floor(visitor.createdAt + share * span), Math.floor(visitor.lastSeenAt / 1000) * 1000)
    }
    const rowAt = (k: number): Activity => {
      const dressing = random(purposes.extra, visitor.index, original(k))
      return { kind: pick(activityKinds, dressing), at: timeAt(k), variantSeed: dressing }
    }
    return { length, timeAt, rowAt }
  }
  return { of }
}
