/** The worker's metrics, in the text format of Prometheus. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { WorkerMetrics } from '../app/worker/resources.ts'
import { auditedStreams } from '../core/audit.ts'
import { errorText } from '../core/error-text.ts'
import type { ProjectHealth } from '../core/health.ts'
import type { FailingJob } from '../core/job-failure.ts'
import type { SyncMode, SyncOutcome } from '../core/mirror.ts'
import type { StreamName } from '../core/stream-specs.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Logger } from '../log.ts'
import { cacheResult, withTimeout } from './cache.ts'
import { createHealthGauges, createWorkerGauges } from './gauges.ts'
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
  const requests = counter('requests', 'Requests to the service', ['project', 'priority', 'outcome'])
  const throttled = counter('throttled', 'Requests that the service answered by 429', ['project'])
  const read = counter('rows_read', 'Rows that the service sent', ['project', 'stream'])
  const changed = counter('rows_changed', 'Rows that were new or different', ['project', 'stream'])
  const settled = counter('writebacks_settled', 'Write-backs by outcome', ['project', 'status'])
  const audited = counter('audited_rows', 'Rows that audits read again and compared', ['project', 'stream'])
  const auditDifferences = counter('audit_differences', 'Rows that an audit found to differ', ['project', 'stream'])
  const jobs = counter('jobs', 'Jobs by result', ['queue', 'result'])
  const deliveries = counter('webhooks', 'Webhook deliveries by outcome', ['project', 'outcome'])
  const jobFailures = counter('job_failures', 'Jobs that failed', ['job', 'project', 'stream'])
  const queueErrors = counter('queue_errors', "Errors of the queue's store", [])
  const syncRuns = new Histogram({
    name: 'deskmirror_sync_duration_seconds',
    help: 'Duration of sync runs of a stream',
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
    startAtZero: (project: string) => {
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
    countDelivery: (project: string | null, outcome: string) => deliveries.inc({ project: project ?? '', outcome }),
    /** Counts a job by its result. */
    countJob: (job: { queue: string; result: string }) => jobs.inc(job),
    /** Counts an error of the queue's store. */
    countQueueError: () => queueErrors.inc(),
  }
}
