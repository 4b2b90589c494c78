/** The gauges: of each project's mirror, and of the worker itself. They show the last update, and nothing older. */
import { Gauge, type Registry } from 'prom-client'
import type { ProjectHealth } from '../core/health.ts'
import type { FailingJob } from '../core/job-failure.ts'
import type { EpochMs } from '../core/time.ts'
import type { ReadinessResult } from './server.ts'

const gaugeMaker = (registry: Registry) => (name: string, help: string, labelNames: readonly string[]) =>
  new Gauge({ name: `deskmirror_${name}`, help, labelNames, registers: [registry] })

export function createHealthGauges(registry: Registry) {
  const create = gaugeMaker(registry)
  const all: Gauge[] = []
  const gauge = (name: string, help: string, ...others: readonly string[]) => {
    const created = create(name, help, ['project', ...others])
    all.push(created)
    return created
  }
  const lag = gauge('lag_seconds', 'Time since the stream last completed; absent before the first completion', 'stream')
  const pendingChildren = gauge('pending_children', 'Rows whose details are still to be read', 'stream')
  const failed = gauge('stream_failed', '1: the last sync run of the stream failed', 'stream')
  const skipped = gauge('stream_skipped', '1: the stream is not read because the key lacks its scope', 'stream')
  const gaps = gauge('open_gaps', 'Rows or ranges known to be missing')
  const changedDefinitions = gauge(
    'rollup_metrics_changed',
    'Numbers of the rollups that no longer match our own counts, on a day of the last week',
  )
  const writebacks = gauge('writebacks', 'Write-backs by state', 'state')
  const paused = gauge('project_paused', '1: nothing is read because the service denies the key')
  const held = gauge('sending_held', '1: no write-back is sent because the warehouse went back in time')
  const limit = gauge('budget_limit', 'Requests in a window that the key allows')
  const slots = gauge(
    'budget_slots',
    'Requests in a window that are used at most: fewer than the limit, and fewer still after a 429',
  )
  const inUse = gauge('budget_slots_in_use', 'Slots of the budget in use')
  const pausedSeconds = gauge('budget_paused_seconds', 'How long the key still pauses after a 429')
  const closedSeconds = gauge('budget_closed_seconds', 'How long no request is sent because past use is unknown')

  const showStreams = ({ project, streams }: ProjectHealth) => {
    for (const { stream, ...health } of streams) {
      if (health.lagMs !== null) lag.set({ project, stream }, health.lagMs / 1000)
      pendingChildren.set({ project, stream }, health.pendingChildren)
      failed.set({ project, stream }, Number(health.isFailed))
      skipped.set({ project, stream }, Number(health.isSkipped))
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
  const clear = () => {
    for (const gauge of all) gauge.reset()
  }
  return {
    /** No value is better than an outdated one. */
    clear,
    update: (projects: readonly ProjectHealth[]) => {
      clear()
      for (const health of projects) {
        const { project } = health
        showStreams(health)
        showBudget(health)
        gaps.set({ project }, health.gaps)
        changedDefinitions.set({ project }, health.changedDefinitions)
        paused.set({ project }, Number(health.isPaused))
        held.set({ project }, Number(health.isHeld))
        for (const [state, rows] of Object.entries(health.writebacks)) writebacks.set({ project, state }, rows)
      }
    },
  }
}

/** Of its failing jobs, and the readiness of its dependencies. */
export function createWorkerGauges(registry: Registry) {
  const gauge = gaugeMaker(registry)
  const failingSeconds = gauge(
    'job_failing_seconds',
    'Time since the job first failed; absent for jobs that do not fail',
    ['job', 'project', 'stream'],
  )
  const queuePaused = gauge('queue_paused', '1: someone paused the queue, so none of its jobs runs', ['queue'])
  const isReady = gauge('ready', '1: the warehouse or the queue can be used', ['part'])
  return {
    update: (failing: readonly FailingJob[], ready: readonly ReadinessResult[], now: EpochMs) => {
      failingSeconds.reset()
      // The shortest first: lanes, and modes of a stream, share labels, and the longest is to remain.
      const longestLast = failing.toSorted((a, b) => b.failure.since - a.failure.since)
      for (const { identity, failure } of longestLast) {
        const labels = { job: identity.job, project: identity.project?.name ?? '', stream: identity.stream ?? '' }
        failingSeconds.set(labels, Math.max(0, now - failure.since) / 1000)
      }
      queuePaused.reset()
      for (const { identity } of failing) if (identity.job === 'queue') queuePaused.set({ queue: identity.key }, 1)
      isReady.reset()
      for (const { name, ok } of ready) isReady.set({ part: name }, Number(ok))
    },
  }
}
