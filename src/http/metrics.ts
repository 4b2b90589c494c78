/** The worker's metrics, in the text format of Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { StreamName } from '../../schema/stream-specs.ts'
import type { Logger } from '../log.ts'
import type { ProjectHealth } from '../maintenance/core/health.ts'
import type { FailingJob } from '../maintenance/core/job-failure.ts'
import { auditedStreams } from '../mirror/core/audit.ts'
import type { SyncMode, SyncOutcome } from '../mirror/core/mirror.ts'
import type { ProjectName } from '../values/project.ts'
import { errorText } from '../values/system-error-text.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import type { WorkerMetrics } from '../worker/resources.ts'
import { cacheResult, withTimeout } from './cache.ts'
import type { ReadinessResult } from './server.ts'

/** Sync runs and requests are counted as they end; the mirror's health is read on each scrape. */
export type Metrics = ReturnType<typeof createMetrics>

export type MetricsOptions = {
  readonly readHealth: () => Promise<readonly ProjectHealth[]>
  /** The jobs that are failing now. */
  readonly failingJobs?: () => readonly FailingJob[]
  /** Whether what the worker depends on is available. */
  readonly checkReadiness?: () => Promise<readonly ReadinessResult[]>
  /** Gets the error when the health cannot be read. */
  readonly log: Logger
  readonly now?: () => EpochMs
}

const cacheMs: Ms = 10_000
/** Shorter than Prometheus's scrape timeout. */
const readTimeoutMs: Ms = 8000

export function createMetrics({
  readHealth,
  log,
  now = Date.now,
  failingJobs = () => [],
  checkReadiness = async () => [],
}: MetricsOptions) {
  const registry = new Registry()
  const { startAtZero, ...counters } = createCounters(registry)
  const up = new Gauge({
    name: 'deskmirror_health_up',
    help: '1: the health of the mirror could be read; 0: metrics from the warehouse are left out',
    registers: [registry],
  })
  const healthGauges = createHealthGauges(registry)
  const workerGauges = createWorkerGauges(registry)
  let measuresProcess = false
  /** Its histogram of the event loop wakes the process a hundred times a second, half of what an idle worker costs. */
  const measureProcess = () => {
    if (!measuresProcess) collectDefaultMetrics({ register: registry })
    measuresProcess = true
  }

  const cachedHealth = cacheResult(readHealth, cacheMs, now)
  let wasUp = true
  const refresh = async () => {
    workerGauges.update(failingJobs(), await withTimeout(readTimeoutMs, checkReadiness()).catch(() => []), now())
    try {
      const all = await withTimeout(readTimeoutMs, cachedHealth())
      healthGauges.update(all)
      for (const { project } of all) startAtZero(project)
      up.set(1)
      if (!wasUp) log.info({ event: 'health.read_recovered' })
      wasUp = true
    } catch (error) {
      up.set(0)
      healthGauges.clear()
      if (wasUp) log.warn({ event: 'health.read_failed', why: errorText(error) })
      wasUp = false
    }
  }
  return {
    registry,
    contentType: registry.contentType,
    /** Never fails: what cannot be read is left out, and `deskmirror_health_up` is 0. */
    text: async () => {
      measureProcess()
      await refresh()
      return registry.metrics()
    },
    ...counters,
  }
}

function createCounters(registry: Registry) {
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name: `deskmirror_${name}_total`, help, labelNames, registers: [registry] })
  const requests = counter(
    'requests',
    'Requests by priority (write, fresh, backfill, reconcile) and outcome (ok, throttled, transient: network or 5xx, refused: 400 or 404, denied: 401 or 403, aborted)',
    ['project', 'priority', 'outcome'],
  )
  const throttled = counter('throttled', 'Requests that the service answered by 429: something else uses the key', [
    'project',
  ])
  const read = counter('rows_read', 'Rows that the service sent', ['project', 'stream'])
  const changed = counter('rows_changed', 'Rows that were new or different', ['project', 'stream'])
  const settled = counter(
    'writebacks_settled',
    'Write-backs by outcome: succeeded, failed, conflict, uncertain, expired',
    ['project', 'status'],
  )
  const audited = counter('audited_rows', 'Rows that audits read again and compared', ['project', 'stream'])
  const auditDifferences = counter('audit_differences', 'Rows that an audit found to differ', ['project', 'stream'])
  const jobs = counter('jobs', 'Jobs by result', ['queue', 'result'])
  const deliveries = counter(
    'webhooks',
    'Webhook deliveries by outcome: accepted, repeated, full (5,000 wait already), rejected (not signed with a secret of the project)',
    ['project', 'outcome'],
  )
  const jobFailures = counter(
    'job_failures',
    'Jobs that failed: a sync (pass), write-backs, webhooks, a schedule, housekeeping, maintenance, outbox_poll',
    ['job', 'project', 'stream'],
  )
  const queueErrors = counter('queue_errors', "Errors of the queue's server", [])
  const syncRuns = new Histogram({
    name: 'deskmirror_sync_duration_seconds',
    help: 'Duration of sync jobs by mode (incremental, reconcile, audit) and outcome',
    labelNames: ['stream', 'mode', 'outcome'],
    buckets: [0.1, 0.5, 2, 10, 30, 60, 300, 900, 3600, 4 * 3600],
    registers: [registry],
  })
  const workerMetrics: WorkerMetrics = {
    countRequest: ({ project, priority, outcome }) => {
      requests.inc({ project, priority, outcome })
      if (outcome === 'throttled') throttled.inc({ project })
    },
    countStream: (project, { stream, ...report }) => {
      read.inc({ project, stream }, report.rows)
      changed.inc({ project, stream }, report.changed)
    },
    countAudit: (project, { stream, compared, differing }) => {
      audited.inc({ project, stream }, compared)
      auditDifferences.inc({ project, stream }, differing)
    },
    countSettled: (writeback) => settled.inc(writeback),
    countJobFailure: ({ job, project, stream }) =>
      jobFailures.inc({ job, project: project?.name ?? '', stream: stream ?? '' }),
  }
  return {
    ...workerMetrics,
    /** `increase()` ignores a counter's first value: without a 0 the first 429, or difference, would not show. */
    startAtZero: (project: ProjectName) => {
      throttled.inc({ project }, 0)
      for (const stream of auditedStreams) auditDifferences.inc({ project, stream }, 0)
    },
    observeSyncRun: ({
      tookMs,
      ...labels
    }: {
      stream: StreamName
      mode: SyncMode | 'audit'
      outcome: SyncOutcome
      tookMs: Ms
    }) => syncRuns.observe(labels, tookMs / 1000),
    /** `project` null: unknown. */
    countDelivery: (project: ProjectName | null, outcome: string) =>
      deliveries.inc({ project: project ?? '', outcome }),
    /** Counts a job by its result. */
    countJob: (job: { queue: string; result: string }) => jobs.inc(job),
    /** Counts an error of the queue's store. */
    countQueueError: () => queueErrors.inc(),
  }
}

/** The gauges: of each project's mirror, and of the worker itself. They show the last update, and nothing older. */
const gaugeMaker = (registry: Registry) => (name: string, help: string, labelNames: readonly string[]) =>
  new Gauge({ name: `deskmirror_${name}`, help, labelNames, registers: [registry] })

function createHealthGauges(registry: Registry) {
  const create = gaugeMaker(registry)
  const all: Gauge[] = []
  const gauge = (name: string, help: string, ...others: readonly string[]) => {
    const created = create(name, help, ['project', ...others])
    all.push(created)
    return created
  }
  const lag = gauge('lag_seconds', 'Time since the stream last completed; absent before the first completion', 'stream')
  const pendingChildren = gauge(
    'pending_children',
    'Conversations, visitors and calls whose children are still to be read',
    'stream',
  )
  const failed = gauge('stream_failed', '1: the last sync run of the stream failed', 'stream')
  const skipped = gauge('stream_skipped', '1: the stream is not read because the key lacks its scope', 'stream')
  const gaps = gauge('open_gaps', 'Rows or ranges known to be missing')
  const writebacks = gauge('writebacks', 'Write-backs by state; uncertain ones need a person', 'state')
  const paused = gauge('project_paused', '1: nothing is read because the service denies the key')
  const held = gauge(
    'sending_held',
    '1: no write-back is sent because the warehouse went back in time, as after a restored backup',
  )
  const limit = gauge('budget_limit', 'Requests in a window that the key allows')
  const slots = gauge(
    'budget_slots',
    'Requests in a window that are used at most: fewer than the limit, and fewer still after a 429',
  )
  const inUse = gauge(
    'budget_slots_in_use',
    'Slots of the budget in use; all of them for hours is a backlog at full speed, not an error',
  )
  const pausedSeconds = gauge('budget_paused_seconds', 'How long the key still pauses after a 429')
  const closedSeconds = gauge(
    'budget_closed_seconds',
    'How long no request is sent because recent ones may not be counted',
  )

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
        paused.set({ project }, Number(health.isPaused))
        held.set({ project }, Number(health.isHeld))
        for (const [state, rows] of Object.entries(health.writebacks)) writebacks.set({ project, state }, rows)
      }
    },
  }
}

/** Of its failing jobs, and the readiness of its dependencies. */
function createWorkerGauges(registry: Registry) {
  const gauge = gaugeMaker(registry)
  const failingSeconds = gauge(
    'job_failing_seconds',
    'Time since the job first failed; absent for jobs that do not fail',
    ['job', 'project', 'stream'],
  )
  const queuePaused = gauge('queue_paused', '1: someone paused the queue, so none of its jobs runs', ['queue'])
  const isReady = gauge('ready', '1: the part (warehouse, queue) can be used; worker: it is not stopping', ['part'])
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
