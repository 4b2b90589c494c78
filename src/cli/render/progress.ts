/** Progress as values: what each stream has done, how fast, and how long it still takes. Pure: no clock, no I/O. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { SyncProgress } from '../../mirror/mirror.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import { burstSlots } from '../../service/core/slots.ts'
import { formatCount, formatDuration, pluralize } from '../../values/format.ts'
import type { EpochMs, Ms } from '../../values/time.ts'

type StreamProgress = SyncProgress & { readonly since: EpochMs; readonly updatedAt: EpochMs }
export type Progress = {
  readonly streams: ReadonlyMap<StreamName, StreamProgress>
  readonly budget: BudgetView | null
}

/** The cells of a stream's line: name, state, rows, requests, rate, remaining requests. */
export function streamProgressRow(stream: StreamProgress, now: EpochMs): string[] {
  const end = stream.state === 'running' ? now : stream.updatedAt
  const seconds = Math.max(0.001, (end - stream.since) / 1000)
  const rate = stream.rows >= 100 && seconds >= 0.2 ? `${formatCount(Math.round(stream.rows / seconds))} rows/s` : ''
  const left =
    stream.state !== 'running' ? stream.state : stream.left === null ? '' : `${pluralize(stream.left, 'request')} left`
  return [
    stream.stream,
    pluralize(stream.rows, 'row'),
    stream.differing === undefined
      ? `${formatCount(stream.changed)} changed`
      : `${formatCount(stream.differing)} differ`,
    pluralize(stream.requests, 'request'),
    rate,
    left,
  ]
}

/** `9.4 requests/s   about 3 min 10 s left`; the parts that are known. */
export function progressSummary(progress: Progress, now: EpochMs): string {
  const streams = [...progress.streams.values()]
  const running = streams.filter(({ state }) => state === 'running')
  const left = running.reduce((sum, stream) => sum + (stream.left ?? 0), 0)
  const time = progress.budget === null || left === 0 ? null : timeLeft(left, progress.budget)
  const parts = [
    requestRate(streams, now),
    time === null
      ? ''
      : `${running.some(({ left }) => left === null) ? 'at least' : 'about'} ${formatDuration(time)} left`,
    progress.budget === null ? '' : formatBudget(progress.budget),
  ]
  return parts.filter((part) => part !== '').join('   ')
}

/** Requests within the free part of the burst go at once, the others at the pace of the budget. */
export function timeLeft(requests: number, budget: BudgetView): Ms {
  const paced = Math.max(0, requests - Math.max(0, burstSlots(budget.slots) - budget.inUse))
  return (
    Math.max(1000, (paced / Math.max(1, budget.slots)) * budget.windowMs) +
    Math.max(budget.pausedForMs ?? 0, budget.closedForMs ?? 0)
  )
}

function requestRate(streams: readonly StreamProgress[], now: EpochMs): string {
  const requests = streams.reduce((sum, stream) => sum + stream.requests, 0)
  const since = Math.min(now, ...streams.map((stream) => stream.since))
  return now - since < 500 ? '' : `${formatCount(requests / ((now - since) / 1000))} requests/s`
}

/** How much of the budget is in use, or why no request is sent for a while. */
export function formatBudget(budget: BudgetView): string {
  if (budget.pausedForMs !== null) return `the service asked for a pause: ${formatDuration(budget.pausedForMs)}`
  if (budget.closedForMs !== null)
    return `nothing is sent for ${formatDuration(budget.closedForMs)}: the record of recent requests was lost`
  return `budget ${formatCount(budget.inUse)} of ${formatCount(budget.slots)}`
}
