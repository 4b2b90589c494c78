/** The worker's metrics, in the text format of Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { StreamName } from '../../schema/stream-specs.ts'
import type { Logger } from '../log.ts'
import type { FailingJob, JobIdentity, ProjectHealth } from '../maintenance/maintenance.ts'
import { auditedStreams } from '../mirror/core/audit.ts'
import type { AuditResult, StreamReport, SyncMode, SyncOutcome } from '../mirror/mirror.ts'
import type { WritebackStatus } from '../outbox/outbox.ts'
import type { ApiFailure } from '../service/core/api-failure.ts'
import type { Priority } from '../service/core/api-request.ts'
import type { ProjectName } from '../values/project.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { errorText } from '../values/user-error.ts'
import type { Storage } from '../warehouse/storage.ts'
import { rememberResults, withTimeout } from './remember-results.ts'
import type { ReadinessResult } from './server.ts'

/** Sync runs and requests are counted as they end; the mirror's health is read on each scrape. */
export type Metrics = ReturnType<typeof createMetrics>

export type MetricsOptions = {
  readonly readHealth: () => Promise<readonly ProjectHealth[]>
  readonly failingJobs?: () => readonly FailingJob[]
  readonly checkReadiness?: () => Promise<readonly ReadinessResult[]>
  readonly readStorage?: () => Promise<Storage>
  /** Gets the error when the health cannot be read. */
  readonly log: Logger
  readonly now?: () => EpochMs
}

const rememberedMs: Ms = 10_000
/** Shorter than Prometheus's scrape timeout. */
const readTimeoutMs: Ms = 8000

export function createMetrics({
  readHealth,
  log,
  now = Date.now,
  failingJobs = () => [],
  checkReadiness = async () => [],
  readStorage,
}: MetricsOptions) {
  const registry = new Registry()
  const { startAtZero, ...counters } = createCounters(registry)
  const showUp = createGauges(registry, gaugeHelp.health)
  const showHealth = createHealthGauges(registry)
  const showWorker = createWorkerGauges(registry)
  const showStorage = createGauges(registry, gaugeHelp.storage, 'database')
  let measuresProcess = false
  const health = rememberResults({ maxAgeMs: rememberedMs, now, read: readHealth })
  let wasUp = true
  const refresh = async () => {
    const storage =
      readStorage && (await withTimeout(readTimeoutMs, readStorage()).catch(() => undefined))
    showStorage(
      [storage ?? []]
        .flat()
        .map(({ database, bytes, freeBytes }) => [
          { database },
          { warehouse_bytes: bytes, disk_free_bytes: freeBytes },
        ]),
    )
    showWorker(
      failingJobs(),
      await withTimeout(readTimeoutMs, checkReadiness()).catch(() => []),
      now(),
    )
    try {
      const all = await withTimeout(readTimeoutMs, health.get('', null))
      showHealth(all)
      for (const { project } of all) startAtZero(project)
      if (!wasUp) log.info({ event: 'health.read_recovered' })
      wasUp = true
    } catch (error) {
      // No value is better than an outdated one.
      showHealth([])
      if (wasUp) log.warn({ event: 'health.read_failed', why: errorText(error) })
      wasUp = false
    }
    showUp([[{}, { health_up: Number(wasUp) }]])
  }
  return {
    registry,
    contentType: registry.contentType,
    /** Never fails: what cannot be read is left out, and `deskmirror_health_up` is 0. */
    text: async () => {
      // Its histogram of the event loop wakes the process a hundred times a second, half of what an
      // idle worker costs.
      if (!measuresProcess) collectDefaultMetrics({ register: registry })
      measuresProcess = true
      await refresh()
      return registry.metrics()
    },
    ...counters,
  }
}

/** The help of each counter, then its labels. */
const counters = {
  requests: [
    'Requests by priority (write, fresh, backfill, reconcile) and outcome (ok, throttled, ' +
      'transient: network or 5xx, refused: 400 or 404, denied: 401 or 403, aborted)',
    'project',
    'priority',
    'outcome',
  ],
  throttled: ['Requests that the service answered by 429: something else uses the key', 'project'],
  rows_read: ['Rows that the service sent', 'project', 'stream'],
  rows_changed: ['Rows that were new or different', 'project', 'stream'],
  writebacks_settled: [
    'Write-backs by outcome: succeeded, failed, conflict, uncertain, expired',
    'project',
    'status',
  ],
  audited_rows: ['Rows that audits read again and compared', 'project', 'stream'],
  audit_differences: ['Rows that an audit found to differ', 'project', 'stream'],
  jobs: ['Jobs by result', 'queue', 'result'],
  webhooks: [
    'Webhook deliveries by outcome: accepted, unavailable (the queue does not answer), ' +
      'rejected (not signed with a secret of the project)',
    'project',
    'outcome',
  ],
  job_failures: [
    'Jobs that failed: sync, writebacks, schedule, lake, housekeeping, maintenance, outbox_poll, ' +
      'notify',
    'job',
    'project',
    'stream',
  ],
  notifications: [
    'Posts to the address of `notify` by outcome: sent, failed (after its retries)',
    'project',
    'outcome',
  ],
  queue_errors: ["Errors of the queue's server"],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>

function createCounters(registry: Registry) {
  const registers = [registry]
  const total = Object.fromEntries(
    Object.entries(counters).map(([name, [help, ...labelNames]]) => [
      name,
      new Counter({ name: `deskmirror_${name}_total`, help, labelNames, registers }),
    ]),
  ) as Record<keyof typeof counters, Counter>
  const syncRuns = new Histogram({
    name: 'deskmirror_sync_duration_seconds',
    help: 'Duration of sync jobs by mode (incremental, reconcile, audit) and outcome',
    labelNames: ['stream', 'mode', 'outcome'],
    buckets: [0.1, 0.5, 2, 10, 30, 60, 300, 900, 3600, 4 * 3600],
    registers,
  })
  return {
    /** A request got a response, or was given up. */
    countRequest: (request: {
      project: ProjectName
      priority: Priority
      outcome: 'ok' | ApiFailure['kind']
    }): void => {
      total.requests.inc(request)
      if (request.outcome === 'throttled') total.throttled.inc({ project: request.project })
    },
    countStream: (project: ProjectName, { stream, ...report }: StreamReport): void => {
      total.rows_read.inc({ project, stream }, report.rows)
      total.rows_changed.inc({ project, stream }, report.changed)
    },
    countAudit: (project: ProjectName, { stream, compared, differing }: AuditResult): void => {
      total.audited_rows.inc({ project, stream }, compared)
      total.audit_differences.inc({ project, stream }, differing)
    },
    countSettled: (writeback: { project: ProjectName; status: WritebackStatus }): void =>
      total.writebacks_settled.inc(writeback),
    countJobFailure: (identity: JobIdentity): void => total.job_failures.inc(jobLabels(identity)),
    /**
     * `increase()` ignores a counter's first value: without a 0 the first 429, or difference, would
     * not show.
     */
    startAtZero: (project: ProjectName): void => {
      total.throttled.inc({ project }, 0)
      for (const stream of auditedStreams) total.audit_differences.inc({ project, stream }, 0)
    },
    observeSyncRun: ({
      tookMs,
      ...labels
    }: {
      stream: StreamName
      mode: SyncMode | 'audit'
      outcome: SyncOutcome
      tookMs: Ms
    }): void => syncRuns.observe(labels, tookMs / 1000),
    /** `project` null: unknown. */
    countDelivery: (project: ProjectName | null, outcome: string): void =>
      total.webhooks.inc({ project: project ?? '', outcome }),
    countJob: (job: { queue: string; result: string }): void => total.jobs.inc(job),
    countNotification: (post: { project: ProjectName; outcome: 'sent' | 'failed' }): void =>
      total.notifications.inc(post),
    countQueueError: (): void => total.queue_errors.inc(),
  }
}

function jobLabels({ job, project, stream }: JobIdentity) {
  return { job, project: project?.name ?? '', stream: stream ?? '' }
}

/**
 * Gauges with the same labels, with the help of each. They show the last samples, and nothing
 * older; null: no sample.
 */
function createGauges<Name extends string>(
  registry: Registry,
  help: Readonly<Record<Name, string>>,
  ...labelNames: string[]
) {
  const gauges = (Object.keys(help) as Name[]).map((key) => {
    const registers = [registry]
    const name = `deskmirror_${key}`
    return { key, gauge: new Gauge({ name, help: help[key], labelNames, registers }) }
  })
  return (
    samples: Iterable<
      readonly [
        labels: Readonly<Record<string, string>>,
        values: Readonly<Record<Name, number | null>>,
      ]
    >,
  ): void => {
    for (const { gauge } of gauges) gauge.reset()
    for (const [of, values] of samples)
      for (const { key, gauge } of gauges) if (values[key] !== null) gauge.set(of, values[key])
  }
}

/** Gauges with the same labels stand together. */
const gaugeHelp = {
  health: {
    health_up:
      '1: the health of the mirror could be read; 0: metrics from the warehouse are left out',
  },
  streams: {
    lag_seconds: 'Time since the stream last completed; absent before the first completion',
    interval_seconds:
      'The longest time between two readings that the schedules plan; ' +
      'absent if none reads the stream',
    pending_children: 'Conversations, visitors and calls whose children are still to be read',
    stream_failed: '1: the last sync run of the stream failed',
    stream_skipped: '1: the stream is not read because the key lacks its scope',
  },
  projects: {
    open_gaps: 'Rows or ranges known to be missing',
    project_paused: '1: nothing is read because the service denies the key',
    sending_stopped:
      '1: replies and notes, or those of an import, wait because the ' +
      'last ones were uncertain or refused',
    sending_held:
      '1: no write-back is sent because the warehouse went back in ' +
      'time, as after a restored backup',
    budget_limit: 'Requests in a window that the key allows',
    budget_slots:
      'Requests in a window that are used at most: fewer than the ' +
      'limit, and fewer still after a 429',
    budget_slots_in_use:
      'Slots of the budget in use; all of them for hours is a backlog at full speed, not an error',
    budget_paused_seconds: 'How long the key still pauses after a 429',
    budget_closed_seconds: 'How long no request is sent because recent ones may not be counted',
  },
  states: { writebacks: 'Write-backs by state; uncertain ones need a person' },
  failing: {
    job_failing_seconds: 'Time since the job first failed; absent for jobs that do not fail',
  },
  queues: { queue_paused: '1: someone paused the queue, so none of its jobs runs' },
  storage: {
    warehouse_bytes:
      'Size of the warehouse: the file of SQLite with its log, or the database of Postgres',
    disk_free_bytes:
      'Free space beside the file of SQLite; absent for Postgres, whose server does not tell',
  },
  parts: { ready: '1: the part (warehouse, queue) can be used; worker: it is not stopping' },
}

/** `delta()` ignores the first value of a series: without a 0 the first failure would not show. */
const noWritebacks: Readonly<Partial<Record<WritebackStatus, number>>> = {
  failed: 0,
  conflict: 0,
  uncertain: 0,
}

function createHealthGauges(registry: Registry) {
  const showStreams = createGauges(registry, gaugeHelp.streams, 'project', 'stream')
  const showProjects = createGauges(registry, gaugeHelp.projects, 'project')
  const showWritebacks = createGauges(registry, gaugeHelp.states, 'project', 'state')
  return (all: readonly ProjectHealth[]): void => {
    showStreams(
      all.flatMap(({ project, streams }) =>
        streams.map((it) => [
          { project, stream: it.stream },
          {
            lag_seconds: toSeconds(it.lagMs),
            interval_seconds: toSeconds(it.intervalMs),
            pending_children: it.pendingChildren,
            stream_failed: Number(it.isFailed),
            stream_skipped: Number(it.isSkipped),
          },
        ]),
      ),
    )
    showProjects(
      all.map(({ project, budget, ...health }) => [
        { project },
        {
          open_gaps: health.gaps,
          project_paused: Number(health.isPaused),
          sending_stopped: Number(health.isCircuitOpen),
          sending_held: Number(health.isHeld),
          budget_limit: budget?.limit ?? null,
          budget_slots: budget?.slots ?? null,
          budget_slots_in_use: budget?.inUse ?? null,
          budget_paused_seconds: toSeconds(budget && (budget.pausedForMs ?? 0)),
          budget_closed_seconds: toSeconds(budget && (budget.closedForMs ?? 0)),
        },
      ]),
    )
    showWritebacks(
      all.flatMap(({ project, writebacks }) =>
        Object.entries({ ...noWritebacks, ...writebacks }).map(([state, rows]) => [
          { project, state },
          { writebacks: rows },
        ]),
      ),
    )
  }
}

const toSeconds = (ms: Ms | null): number | null => (ms === null ? null : ms / 1000)

function createWorkerGauges(registry: Registry) {
  const showFailing = createGauges(registry, gaugeHelp.failing, 'job', 'project', 'stream')
  const showPaused = createGauges(registry, gaugeHelp.queues, 'queue')
  const showReady = createGauges(registry, gaugeHelp.parts, 'part')
  return (
    failing: readonly FailingJob[],
    ready: readonly ReadinessResult[],
    now: EpochMs,
  ): void => {
    // The shortest first: lanes, and modes of a stream, share labels, and the longest is to remain.
    const longestLast = failing.toSorted((a, b) => b.failure.since - a.failure.since)
    const failingFor = ({ since }: FailingJob['failure']) => Math.max(0, now - since) / 1000
    showFailing(
      longestLast.map((it) => [
        jobLabels(it.identity),
        { job_failing_seconds: failingFor(it.failure) },
      ]),
    )
    const paused = failing.filter(({ identity }) => identity.job === 'queue')
    showPaused(paused.map(({ identity }) => [{ queue: identity.key }, { queue_paused: 1 }]))
    showReady(ready.map(({ name, ok }) => [{ part: name }, { ready: Number(ok) }]))
  }
}
