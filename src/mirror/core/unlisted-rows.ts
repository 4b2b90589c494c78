/**
 * What follows from stored rows that a reading of a whole child list did not show. They are
 * deleted, or the list is cut: it lacks one end, or is suddenly much shorter. So rows between
 * others that are listed are deleted; rows beyond them only if they are few and another list is
 * longer.
 *
 * Two readings have to miss a row: the first may have met a page that was being changed. Pure.
 */
import type { EpochSeconds } from '../../values/time.ts'
import { isMassDeletion, type ListedRows } from './mirror.ts'
import { maxOf, minOf } from './pagination/sort-order.ts'

/** A row that is not deleted. `isLater`: from a later request than the reading's first one. */
export type StoredChild = {
  readonly key: string
  readonly at: EpochSeconds | null
  readonly isLater: boolean
}

const none = { inside: [] as string[], beyond: [] as string[], unexplained: [] as string[] }

/** Keys. `beyond`: at an end of the list. `unexplained`: too many to be deleted. */
export function findUnlistedRows(stored: readonly StoredChild[], listed: ListedRows): typeof none {
  const { keys, from, isConfirmed } = listed
  const keysOf = (rows: readonly StoredChild[]) => rows.map(({ key }) => key)
  const isAsked = ({ at, isLater }: StoredChild) =>
    !isLater && (at === null || from === 0 || at > from)
  const missing = stored.filter((row) => !keys.has(row.key) && isAsked(row))
  if (missing.length === 0) return none
  const isMass = !isConfirmed && isMassDeletion(missing.length, stored.length)
  if (keys.size === 0 || isMass) return { ...none, unexplained: keysOf(missing) }
  const times = stored.flatMap(({ key, at }) => (keys.has(key) && at !== null ? [at] : []))
  const first = minOf(times) ?? Number.NEGATIVE_INFINITY
  const last = maxOf(times) ?? Number.POSITIVE_INFINITY
  // A list that is cut may end within a second.
  const isBeyond = ({ at }: StoredChild) => at !== null && (at <= first || at >= last)
  const beyond = missing.filter(isBeyond)
  const inside = missing.filter((row) => !isBeyond(row))
  const isFew = isConfirmed || beyond.length <= Math.max(1, stored.length * maxShareBeyond)
  return {
    inside: keysOf(inside),
    beyond: isFew ? keysOf(beyond) : [],
    unexplained: isFew ? [] : keysOf(beyond),
  }
}

const maxShareBeyond = 0.25
