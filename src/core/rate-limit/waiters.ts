/** Whose turn it is among processes that share a budget: the more urgent lane first, within a lane whoever asked first. */
import type { EpochMs } from '../time.ts'

/**
 * A process that was told to wait, and for which lane (0 = the most urgent). Nobody behind it is served before it comes
 * back; it counts no longer once `until` is over, so that a process that died holds up nobody.
 */
export type Waiter = { readonly holder: string; readonly rank: number; readonly since: EpochMs; readonly until: EpochMs }

export function liveWaiters(waiters: readonly Waiter[], now: EpochMs): readonly Waiter[] {
  return waiters.some((waiter) => waiter.until <= now) ? waiters.filter((waiter) => waiter.until > now) : waiters
}

/** The process waits for this lane, from now on or still. */
export function addWaiter(waiters: readonly Waiter[], waiter: Omit<Waiter, 'since'>, now: EpochMs): readonly Waiter[] {
  const since = waitingSince(waiters, waiter.holder, waiter.rank) ?? now
  return [...removeWaiter(waiters, waiter.holder), { ...waiter, since }]
}

/** The process was served, or waits for nothing that others need. */
export function removeWaiter(waiters: readonly Waiter[], holder: string): readonly Waiter[] {
  return waiters.some((waiter) => waiter.holder === holder) ? waiters.filter((waiter) => waiter.holder !== holder) : waiters
}

/** Whether another process waits for something more urgent, or as urgent and longer. */
export function isBehindOthers(waiters: readonly Waiter[], holder: string, rank: number, now: EpochMs): boolean {
  const since = waitingSince(waiters, holder, rank) ?? now
  return waiters.some(
    (waiter) => waiter.holder !== holder && (waiter.rank < rank || (waiter.rank === rank && waiter.since < since)),
  )
}

function waitingSince(waiters: readonly Waiter[], holder: string, rank: number): EpochMs | undefined {
  return waiters.find((waiter) => waiter.holder === holder && waiter.rank === rank)?.since
}
