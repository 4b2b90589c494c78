/** Progress as a line: what has been done, how fast, how long the rest takes. Pure. */
import type { SyncProgress } from '../../mirror/mirror.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import { burstSlots } from '../../service/core/slots.ts'
import { formatCount, formatDuration, pluralize } from '../../values/format.ts'
import type { Ms } from '../../values/time.ts'

/** The parts that are known. */
export function joinParts(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('   ')
}

/**
 * `12,000 rows, 40 changed about 3 min 10 s left budget 240 of 588 9.4 requests/s messages, calls`
 */
export function renderSyncProgress(
  streams: readonly SyncProgress[],
  budget: BudgetView | null,
  tookMs: Ms,
): string {
  const sum = (of: (stream: SyncProgress) => number) =>
    streams.reduce((total, stream) => total + of(stream), 0)
  const requests = sum((stream) => stream.requests)
  const running = streams.filter(({ state }) => state === 'running')
  const left = sum((stream) => (stream.state === 'running' ? (stream.left ?? 0) : 0))
  const found = streams.some(({ differing }) => differing !== undefined)
    ? `${formatCount(sum(({ differing = 0 }) => differing))} differ`
    : `${formatCount(sum(({ changed }) => changed))} changed`
  const hasUnknown = running.some((stream) => stream.left === null)
  return joinParts(
    streams.length === 0
      ? ''
      : `${pluralize(
          sum(({ rows }) => rows),
          'row',
        )}, ${found}`,
    budget === null || left === 0 || isMisleading(forecast(left, budget), tookMs)
      ? ''
      : formatTimeLeft(forecast(left, budget), hasUnknown ? 'at least' : 'about'),
    budget === null ? '' : formatBudget(budget),
    tookMs < 500 || requests === 0 ? '' : `${formatCount(requests / (tookMs / 1000))} requests/s`,
    running.map(({ stream }) => stream).join(', '),
  )
}

/** A list shows how much is left only while it is read: a small remainder is no forecast. */
const isMisleading = (leftMs: Ms, tookMs: Ms) => tookMs >= 10_000 && leftMs < tookMs / 10

/** Requests within the free part of the burst go at once, the others at the pace of the budget. */
export function forecast(requests: number, budget: BudgetView): Ms {
  const paced = Math.max(0, requests - Math.max(0, burstSlots(budget.slots) - budget.inUse))
  return (paced / Math.max(1, budget.slots)) * budget.windowMs + pauseOf(budget)
}

/** For how long no request is sent. */
export function pauseOf(budget: BudgetView | null): Ms {
  return Math.max(budget?.pausedForMs ?? 0, budget?.closedForMs ?? 0)
}

/** At the rate so far; empty = nothing is left, or there is no rate yet. */
export function timeLeft(done: number, left: number, tookMs: Ms): string {
  return left <= 0 || done === 0 ? '' : formatTimeLeft((tookMs / done) * left)
}

export function formatTimeLeft(ms: Ms, about = 'about'): string {
  return `${about} ${formatDuration(Math.max(1, Math.round(ms / 1000)) * 1000)} left`
}

/** How much of the budget is in use, or why no request is sent for a while. */
export function formatBudget(budget: BudgetView): string {
  if (budget.pausedForMs !== null)
    return `the service asked for a pause: ${formatDuration(budget.pausedForMs)}`
  if (budget.closedForMs !== null)
    return (
      `the next request leaves in ${formatDuration(budget.closedForMs)}: how many left before ` +
      'is not known, and the rate must not be exceeded'
    )
  return `budget ${formatCount(budget.inUse)} of ${formatCount(budget.slots)}`
}
