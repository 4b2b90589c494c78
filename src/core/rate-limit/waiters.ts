/** The processes that wait for a shared budget, in order: the more urgent rank first, within a rank the oldest first. */
import type { EpochMs } from '../time.ts'

/**
 * A process that has to wait. `rank`: the index of its priority, 0 = the most urgent. No process behind it gets a slot
 * before it; it no longer counts after `until`, so that a process that died delays no other.
 */
export type Waiter = {
  readonly id: string
  readonly rank: number
  readonly since: EpochMs
  readonly until: EpochMs
}

export function liveWaiters(waiters: readonly Waiter[], now: EpochMs): readonly Waiter[] {
  return waiters.some((waiter) => waiter.until <= now) ? waiters.filter((waiter) => waiter.until > now) : waiters
}

/** The process waits at this rank, from now on or still. */
export function addWaiter(waiters: readonly Waiter[], waiter: Omit<Waiter, 'since'>, now: EpochMs): readonly Waiter[] {
  const since = waitingSince(waiters, waiter.id, waiter.rank) ?? now
  return [...removeWaiter(waiters, waiter.id), { ...waiter, since }]
}

/** The process got a slot, or waits for nothing that others need. */
export function removeWaiter(waiters: readonly Waiter[], id: string): readonly Waiter[] {
  const others = waiters.filter((waiter) => waiter.id !== id)
  return others.length < waiters.length ? others : waiters
}

/** Whether another process waits at a more urgent rank, or longer at the same rank. */
export function isBehindOthers(waiters: readonly Waiter[], id: string, rank: number, now: EpochMs): boolean {
  const since = waitingSince(waiters, id, rank) ?? now
  const isBefore = (other: Waiter) => other.rank < rank || (other.rank === rank && other.since < since)
  return waiters.some((waiter) => waiter.id !== id && isBefore(waiter))
}

function waitingSince(waiters: readonly Waiter[], id: string, rank: number): EpochMs | undefined {
  return waiters.find((waiter) => waiter.id === id && waiter.rank === rank)?.since
}
