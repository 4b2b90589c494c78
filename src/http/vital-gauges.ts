/** The gauges that show how each project's mirror stands. Shows the last vitals handed in, and nothing that is gone. */
import { Gauge, type Registry } from 'prom-client'
import type { Vitals } from '../core/vitals.ts'

export type VitalGauges = {
  readonly show: (all: readonly Vitals[]) => void
  /** Rather no number than one that was true once. */
  readonly hide: () => void
}

export function createVitalGauges(registry: Registry): VitalGauges {
  const gauge = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Gauge({ name: `deskmirror_${name}`, help, labelNames: ['project', ...labelNames], registers: [registry] })
  const lag = gauge('lag_seconds', 'Since the stream last came to its end; absent until it first did', 'stream')
  const due = gauge('due_children', 'Rows whose details are still to be read', 'stream')
  const failed = gauge('stream_failed', '1: the last pass of the stream failed', 'stream')
  const skipped = gauge('stream_skipped', '1: the stream is not read, as the key lacks its scope', 'stream')
  const gaps = gauge('open_gaps', 'What is known to be missing and could not be read')
  const writebacks = gauge('writebacks', 'Write-backs by state', 'state')
  const paused = gauge('project_paused', '1: nothing is read, as the service denies the key')
  const limit = gauge('budget_limit', 'Requests in a window that the key is allowed')
  const slots = gauge(
    'budget_slots',
    'Requests in a window that are used at most: less than the limit, less after a 429',
  )
  const inUse = gauge('budget_slots_in_use', 'Slots of the budget that are taken')
  const resting = gauge('budget_resting_seconds', 'How long the key still rests after a 429')
  const closed = gauge('budget_closed_seconds', 'How long nothing is sent yet, as it is not known what was spent')
  const all = [lag, due, failed, skipped, gaps, writebacks, paused, limit, slots, inUse, resting, closed]

  const showStreams = ({ project, streams }: Vitals) => {
    for (const { stream, ...is } of streams) {
      if (is.lagMs !== null) lag.set({ project, stream }, is.lagMs / 1000)
      due.set({ project, stream }, is.due)
      failed.set({ project, stream }, Number(is.failed))
      skipped.set({ project, stream }, Number(is.skipped))
    }
  }
  const showBudget = ({ project, budget }: Vitals) => {
    if (budget === null) return
    limit.set({ project }, budget.limit)
    slots.set({ project }, budget.slots)
    inUse.set({ project }, budget.inUse)
    resting.set({ project }, (budget.pausedForMs ?? 0) / 1000)
    closed.set({ project }, (budget.closedForMs ?? 0) / 1000)
  }
  const hide = () => {
    for (const it of all) it.reset()
  }
  return {
    hide,
    show: (projects) => {
      hide()
      for (const vitals of projects) {
        const { project } = vitals
        showStreams(vitals)
        showBudget(vitals)
        gaps.set({ project }, vitals.gaps)
        paused.set({ project }, Number(vitals.paused))
        for (const [state, rows] of Object.entries(vitals.writebacks)) writebacks.set({ project, state }, rows)
      }
    },
  }
}
