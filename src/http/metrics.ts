/** What the worker measures, in the text format of Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { ApiFailure } from '../core/api-failure.ts'
import type { FailingJob, JobSubject } from '../core/job-failure.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { SyncMode, SyncOutcome } from '../core/mirror.ts'
import type { WritebackStatus } from '../core/outbox/state.ts'
import type { StreamName } from '../core/row.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { ProjectHealth } from '../core/health.ts'
import type { Logger } from '../log.ts'
import { cacheResult, withTimeout } from './cache.ts'
import type { ReadinessResult } from './server.ts'
import { createHealthGauges } from './health-gauges.ts'
import { createWorkerGauges } from './worker-gauges.ts'

/** How a pass or a request went is counted as it ends; how the mirror stands is read when somebody asks. */
export type Metrics = {
  readonly contentType: string
  /** Never fails: what cannot be read is left out, and `deskmirror_vitals_up` is 0. */
  readonly text: () => Promise<string>
  /** One request was answered, or given up. */
  readonly countRequest: (request: RequestMetric) => void
  readonly countRows: (page: { project: string; stream: StreamName; rows: number; changed: number }) => void
  readonly observeSyncRun: (pass: { stream: StreamName; mode: SyncMode; outcome: SyncOutcome; tookMs: Ms }) => void
  /** A webhook was delivered. `project` null: one that nobody knows. */
  readonly countDelivery: (project: string | null, outcome: string) => void
  /** A write-back has come to this. */
  readonly countSettled: (writeback: { project: string; status: WritebackStatus }) => void
  /** A job ended with this verdict. */
  readonly countJob: (job: { queue: string; verdict: string }) => void
  /** A job failed. */
  readonly countJobFailure: (about: JobSubject) => void
  /** The queue's store gave an error. */
  readonly countQueueError: () => void
}

export type RequestMetric = {
  readonly project: string
  readonly priority: Priority
  readonly outcome: 'ok' | ApiFailure['kind']
}

export type MetricsOptions = {
  readonly readHealth: () => Promise<readonly ProjectHealth[]>
  /** The jobs that fail just now. */
  readonly failingJobs?: () => readonly FailingJob[]
  /** What the worker cannot do without, and whether it is there. */
  readonly checkReadiness?: () => Promise<readonly ReadinessResult[]>
  /** Hears why the vitals could not be read. */
  readonly log: Logger
  readonly now?: () => EpochMs
}

const cacheMs: Ms = 10_000
/** Shorter than Prometheus waits for a scrape. */
const readTimeoutMs: Ms = 8000

export function createMetrics(options: MetricsOptions): Metrics {
  const { readHealth, log, now = Date.now, failingJobs = () => [], checkReadiness = async () => [] } = options
  const registry = new Registry()
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name: `deskmirror_${name}_total`, help, labelNames, registers: [registry] })
  const requests = counter('requests', 'Requests to the service', ['project', 'lane', 'outcome'])
  const throttled = counter('throttled', 'Requests that the service answered by 429', ['project'])
  const read = counter('rows_read', 'Rows that the service sent', ['project', 'stream'])
  const changed = counter('rows_changed', 'Rows that were new or different', ['project', 'stream'])
  const settled = counter('writebacks_settled', 'Write-backs by what became of them', ['project', 'status'])
  const jobs = counter('jobs', 'Jobs by how they ended', ['queue', 'verdict'])
  const deliveries = counter('webhooks', 'Deliveries of webhooks by what became of them', ['project', 'outcome'])
  const jobFailures = counter('job_failures', 'Jobs that failed', ['job', 'project', 'stream'])
  const queueErrors = counter('queue_errors', "Errors of the queue's store", [])
  const passes = new Histogram({
    name: 'deskmirror_pass_duration_seconds',
    help: 'Passes over a stream, and how long they took',
    labelNames: ['stream', 'mode', 'outcome'],
    buckets: [0.1, 0.5, 2, 10, 30, 60, 300, 900, 3600, 4 * 3600],
    registers: [registry],
  })
  const up = new Gauge({
    name: 'deskmirror_vitals_up',
    help: '1: how the mirror stands could be read; 0: what is read from the warehouse is left out here',
    registers: [registry],
  })
  const healthGauges = createHealthGauges(registry)
  const workerGauges = createWorkerGauges(registry)
  collectDefaultMetrics({ register: registry })

  const cachedHealth = cacheResult(readHealth, cacheMs, now)
  let wasUp = true
  const refresh = async () => {
    workerGauges.show(failingJobs(), await withTimeout(readTimeoutMs, checkReadiness()).catch(() => []), now())
    try {
      const all = await withTimeout(readTimeoutMs, cachedHealth())
      healthGauges.update(all)
      // A counter that begins at 1 has not risen in the eyes of `increase()`: the first 429 would go unseen.
      for (const { project } of all) throttled.inc({ project }, 0)
      up.set(1)
      if (!wasUp) log.info({ event: 'vitals.back' })
      wasUp = true
    } catch (error) {
      up.set(0)
      healthGauges.clear()
      if (wasUp) log.warn({ event: 'vitals.failed', why: error instanceof Error ? error.message : String(error) })
      wasUp = false
    }
  }
  return {
    contentType: registry.contentType,
    text: async () => {
      await refresh()
      return registry.metrics()
    },
    countRequest: ({ project, priority: lane, outcome }) => {
      requests.inc({ project, lane, outcome })
      if (outcome === 'throttled') throttled.inc({ project })
    },
    countRows: ({ project, stream, ...page }) => {
      read.inc({ project, stream }, page.rows)
      changed.inc({ project, stream }, page.changed)
    },
    observeSyncRun: ({ stream, mode, outcome, tookMs }) => passes.observe({ stream, mode, outcome }, tookMs / 1000),
    countDelivery: (project, outcome) => deliveries.inc({ project: project ?? '', outcome }),
    countSettled: ({ project, status }) => settled.inc({ project, status }),
    countJob: ({ queue, verdict }) => jobs.inc({ queue, verdict }),
    countJobFailure: ({ job, project, stream }) =>
      jobFailures.inc({ job, project: project?.name ?? '', stream: stream ?? '' }),
    countQueueError: () => queueErrors.inc(),
  }
}
