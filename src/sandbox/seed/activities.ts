/** The visitors' activity in the seed data. Some entries are exact copies of the previous one, unless they have ids. */

import type { Activity, Sequence, Visitor } from '../model.ts'
import { integerBetween, pick, purposes, type Random, toUnitInterval } from './random.ts'

const kinds = ['page_view', 'page_view', 'page_view', 'form_submitted', 'chat_opened', 'file_downloaded', 'signed_in']

export function createActivities(random: Random, [low, high]: readonly [number, number], storm: number) {
  return (visitor: Visitor): Sequence<Activity> => {
    const length = integerBetween(low, high, random(purposes.size, purposes.entry, visitor.index))
    const span = visitor.lastSeenAt - visitor.createdAt
    const stormSize = Math.min(storm, length)
    // Odd entries may repeat the even one before them exactly.
    const original = (k: number) => (k % 2 === 1 && random(purposes.entry, visitor.index, k) % 9 === 0 ? k - 1 : k)
    const timeAt = (k: number) => {
      const at = original(k)
      if (length - at <= stormSize) return Math.floor(visitor.lastSeenAt / 1000) * 1000
      const share = (at + toUnitInterval(random(purposes.time, visitor.index, at + 100)) * 0.9) / length
      return Math.min(Math.floor(visitor.createdAt + share * span), Math.floor(visitor.lastSeenAt / 1000) * 1000)
    }
    const rowAt = (k: number): Activity => {
      const draw = random(purposes.extra, visitor.index, original(k))
      return { kind: pick(kinds, draw), at: timeAt(k), variantSeed: draw, position: k }
    }
    return { length, timeAt, rowAt }
  }
}
