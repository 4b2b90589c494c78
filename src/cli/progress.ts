/** Progress as values: what each stream has done, how fast, and how long it still takes. Pure: no clock, no I/O. */
import { burst } from '../core/budget/pool.ts'
import type { BudgetView, SyncProgress } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import { count, duration, plural } from './readable.ts'

export type Standing = SyncProgress & { readonly since: EpochMs; readonly at: EpochMs }
export type Progress = {
  readonly streams: ReadonlyMap<StreamName, Standing>
  readonly budget: BudgetView | null
}

export const noProgress: Progress = { streams: new Map(), budget: null }

export function afterProgress(progress: Progress, news: SyncProgress, now: EpochMs): Progress {
  const since = progress.streams.get(news.stream)?.since ?? now
  return { ...progress, streams: new Map(progress.streams).set(news.stream, { ...news, since, at: now }) }
}

/** The cells of one stream's line: name, state, rows, requests, rate, what is left. */
export function streamCells(it: Standing, now: EpochMs): string[] {
  const end = it.state === 'running' ? now : it.at
  const seconds = Math.max(0.001, (end - it.since) / 1000)
  const rate = it.rows >= 100 && seconds >= 0.2 ? `${count(Math.round(it.rows / seconds))} rows/s` : ''
  const left = it.state !== 'running' ? it.state : it.left === null ? '' : `${plural(it.left, 'request')} left`
  return [it.stream, plural(it.rows, 'row'), `${count(it.changed)} changed`, plural(it.requests, 'request'), rate, left]
}

/** `9.4 requests/s   about 3 min 10 s left`; the parts that are known. */
export function summary(progress: Progress, now: EpochMs): string {
  const streams = [...progress.streams.values()]
  const running = streams.filter((it) => it.state === 'running')
  const left = running.reduce((sum, it) => sum + (it.left ?? 0), 0)
  const time = progress.budget === null || left === 0 ? null : timeLeft(left, progress.budget)
  const parts = [
    pace(streams, now),
    time === null ? '' : `${running.some((it) => it.left === null) ? 'at least' : 'about'} ${duration(time)} left`,
    progress.budget === null ? '' : budgetText(progress.budget),
  ]
  return parts.filter((part) => part !== '').join('   ')
}

/** What is left of the burst goes at once, the rest at the pace of the budget. */
export function timeLeft(requests: number, budget: BudgetView): Ms {
  const paced = Math.max(0, requests - Math.max(0, burst(budget.slots) - budget.inUse))
  return (
    Math.max(1000, (paced / Math.max(1, budget.slots)) * budget.windowMs) +
    Math.max(budget.pausedForMs ?? 0, budget.closedForMs ?? 0)
  )
}

function pace(streams: readonly Standing[], now: EpochMs): string {
  const requests = streams.reduce((sum, it) => sum + it.requests, 0)
  const since = Math.min(now, ...streams.map((it) => it.since))
  return now - since < 500 ? '' : `${count(requests / ((now - since) / 1000))} requests/s`
}

/** How much of the budget is in use, or why nothing is sent for a while. */
export function budgetText(budget: BudgetView): string {
  if (budget.pausedForMs !== null) return `the service asked for a pause: ${duration(budget.pausedForMs)}`
  if (budget.closedForMs !== null)
    return `nothing is sent for ${duration(budget.closedForMs)}: the record of the last requests was lost`
  return `budget ${count(budget.inUse)} of ${count(budget.slots)}`
}
