/** The gauges that show how each project's mirror stands. Shows the last vitals handed in, and nothing that is gone. */
import { Gauge, type Registry } from 'prom-client'
import type { ProjectHealth } from '../core/health.ts'

export type HealthGauges = {
  readonly update: (all: readonly ProjectHealth[]) => void
  /** Rather no number than one that was true once. */
  readonly clear: () => void
}

export function createHealthGauges(registry: Registry): HealthGauges {
  const gauge = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Gauge({ name: `deskmirror_${name}`, help, labelNames: ['project', ...labelNames], registers: [registry] })
  const lag = gauge('lag_seconds', 'Since the stream last came to its end; absent until it first did', 'stream')
  const pendingChildren = gauge('due_children', 'Rows whose details are still to be read', 'stream')
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
  const pausedSeconds = gauge('budget_resting_seconds', 'How long the key still rests after a 429')
  const closedSeconds = gauge('budget_closed_seconds', 'How long nothing is sent yet, as it is not known what was spent')
  const all = [lag, pendingChildren, failed, skipped, gaps, writebacks, paused, limit, slots, inUse, pausedSeconds, closedSeconds]

  const showStreams = ({ project, streams }: ProjectHealth) => {
    for (const { stream, ...is } of streams) {
      if (is.lagMs !== null) lag.set({ project, stream }, is.lagMs / 1000)
      pendingChildren.set({ project, stream }, is.pendingChildren)
      failed.set({ project, stream }, Number(is.isFailed))
      skipped.set({ project, stream }, Number(is.isSkipped))
    }
  }
  const showBudget = ({ project, budget }: ProjectHealth) => {
    if (budget === null) return
    limit.set({ project }, budget.limit)
    slots.set({ project }, budget.slots)
    inUse.set({ project }, budget.inUse)
    pausedSeconds.set({ project }, (budget.pausedForMs ?? 0) / 1000)
    closedSeconds.set({ project }, (budget.closedForMs ?? 0) / 1000)
  }
  const hide = () => {
    for (const it of all) it.reset()
  }
  return {
    clear: hide,
    update: (projects) => {
      hide()
      for (const vitals of projects) {
        const { project } = vitals
        showStreams(vitals)
        showBudget(vitals)
        gaps.set({ project }, vitals.gaps)
        paused.set({ project }, Number(vitals.isPaused))
        for (const [state, rows] of Object.entries(vitals.writebacks)) writebacks.set({ project, state }, rows)
      }
    },
  }
}
