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
import type { Storage } from '../warehouse/storage-size.ts'
import { rememberResults, withTimeout } from './remember-results.ts'
import type { ReadinessResult } from './server.ts'

/** Sync runs and requests are counted as they end; the mirror's health is read on each scrape. */
export type Metrics = ReturnType<typeof createMetrics>

export type MetricsOptions = {
  readonly readHealth: () => Promise<readonly ProjectHealth[]>
  readonly failingJobs?: () => readonly FailingJob[]
  readonly checkReadiness?: () => Promise<readonly ReadinessResult[]>
  readonly readStorage?: () => Promise<Storage | null>
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
  readStorage = async () => null,
}: MetricsOptions) {
  const registry = new Registry()
  const { startAtZero, ...counters } = createCounters(registry)
  const showUp = createGauges(
    registry,
    [],
    single(
      'health_up',
      '1: the health of the mirror could be read; 0: metrics from the warehouse are left out',
    ),
  )
  const showHealth = createHealthGauges(registry)
  const showWorker = createWorkerGauges(registry)
  const showStorage = createGauges(registry, ['database'], storageGauges)
  let measuresProcess = false
  const health = rememberResults({ maxAgeMs: rememberedMs, now, read: readHealth })
  let wasUp = true
  const refresh = async () => {
    // At once: one after the other, they would outlast the scrape, which then has no metric at all.
    const [storage, readiness, found] = await Promise.allSettled([
      withTimeout(readTimeoutMs, readStorage()),
      withTimeout(readTimeoutMs, checkReadiness()),
      withTimeout(readTimeoutMs, health.get('', null)),
    ])
    const stored = storage.status === 'fulfilled' ? storage.value : null
    showStorage(stored === null ? [] : [[{ database: stored.database }, stored]])
    showWorker(failingJobs(), readiness.status === 'fulfilled' ? readiness.value : [], now())
    if (found.status === 'fulfilled') {
      showHealth(found.value)
      for (const { project } of found.value) startAtZero(project)
      if (!wasUp) log.info({ event: 'health.read_recovered' })
    } else {
      // No value is better than an outdated one.
      showHealth([])
      if (wasUp) log.warn({ event: 'health.read_failed', why: errorText(found.reason) })
    }
    wasUp = found.status === 'fulfilled'
    showUp([[{}, Number(wasUp)]])
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

/** Gauges with the same labels: of each its help, and its value; null: no sample. */
type GaugeGroup<Item> = Readonly<
  Record<string, readonly [help: string, read: (item: Item) => number | null]>
>

/** They show the last items, and nothing older. */
function createGauges<Item>(registry: Registry, labelNames: string[], group: GaugeGroup<Item>) {
  const registers = [registry]
  const gauges = Object.entries(group).map(([name, [help, read]]) => ({
    read,
    gauge: new Gauge({ name: `deskmirror_${name}`, help, labelNames, registers }),
  }))
  return (items: Iterable<readonly [labels: Readonly<Record<string, string>>, Item]>): void => {
    for (const { gauge } of gauges) gauge.reset()
    for (const [labels, item] of items)
      for (const { gauge, read } of gauges) {
        const value = read(item)
        if (value !== null) gauge.set(labels, value)
      }
  }
}

const toSeconds = (ms: Ms | null): number | null => (ms === null ? null : ms / 1000)

const streamGauges: GaugeGroup<ProjectHealth['streams'][number]> = {
  lag_seconds: [
    'Time since the stream last completed; absent before the first completion',
    ({ lagMs }) => toSeconds(lagMs),
  ],
  interval_seconds: [
    'The longest time between two readings that the schedules plan; absent if none reads the stream',
    ({ intervalMs }) => toSeconds(intervalMs),
  ],
  pending_children: [
    'Conversations, visitors and calls whose children are still to be read',
    ({ pendingChildren }) => pendingChildren,
  ],
  stream_failed: ['1: the last sync run of the stream failed', ({ isFailed }) => Number(isFailed)],
  stream_skipped: [
    '1: the stream is not read because the key lacks its scope',
    ({ isSkipped }) => Number(isSkipped),
  ],
}

const projectGauges: GaugeGroup<ProjectHealth> = {
  open_gaps: ['Rows or ranges known to be missing', ({ gaps }) => gaps],
  project_paused: [
    '1: nothing is read because the service denies the key',
    ({ isPaused }) => Number(isPaused),
  ],
  sending_stopped: [
    '1: replies and notes, or those of an import, wait because the last ones were uncertain or ' +
      'refused',
    ({ isCircuitOpen }) => Number(isCircuitOpen),
  ],
  sending_held: [
    '1: no write-back is sent because the warehouse went back in time, as after a restored backup',
    ({ isHeld }) => Number(isHeld),
  ],
  budget_limit: ['Requests in a window that the key allows', ({ budget }) => budget?.limit ?? null],
  budget_slots: [
    'Requests in a window that are used at most: fewer than the limit, and fewer still after a 429',
    ({ budget }) => budget?.slots ?? null,
  ],
  budget_slots_in_use: [
    'Slots of the budget in use; all of them for hours is a backlog at full speed, not an error',
    ({ budget }) => budget?.inUse ?? null,
  ],
  budget_paused_seconds: [
    'How long the key still pauses after a 429',
    ({ budget }) => toSeconds(budget && (budget.pausedForMs ?? 0)),
  ],
  budget_closed_seconds: [
    'How long no request is sent because recent ones may not be counted',
    ({ budget }) => toSeconds(budget && (budget.closedForMs ?? 0)),
  ],
}

const storageGauges: GaugeGroup<Storage> = {
  warehouse_bytes: [
    'Size of the warehouse: the file of SQLite with its log, or the database of Postgres',
    ({ bytes }) => bytes,
  ],
  disk_free_bytes: [
    'Free space beside the file of SQLite; absent for Postgres, whose server does not tell',
    ({ freeBytes }) => freeBytes,
  ],
}

/** A single gauge, whose items are its values. */
const single = (name: string, help: string): GaugeGroup<number> => ({
  [name]: [help, (value) => value],
})

/** `delta()` ignores the first value of a series: without a 0 the first failure would not show. */
const noWritebacks: Readonly<Partial<Record<WritebackStatus, number>>> = {
  failed: 0,
  conflict: 0,
  uncertain: 0,
}

function createHealthGauges(registry: Registry) {
  const showStreams = createGauges(registry, ['project', 'stream'], streamGauges)
  const showProjects = createGauges(registry, ['project'], projectGauges)
  const showWritebacks = createGauges(
    registry,
    ['project', 'state'],
    single('writebacks', 'Write-backs by state; uncertain ones need a person'),
  )
  return (all: readonly ProjectHealth[]): void => {
    showStreams(
      all.flatMap(({ project, streams }) =>
        streams.map((it) => [{ project, stream: it.stream }, it] as const),
      ),
    )
    showProjects(all.map((health) => [{ project: health.project }, health]))
    showWritebacks(
      all.flatMap(({ project, writebacks }) =>
        Object.entries({ ...noWritebacks, ...writebacks }).map(
          ([state, rows]) => [{ project, state }, rows] as const,
        ),
      ),
    )
  }
}

function createWorkerGauges(registry: Registry) {
  const showFailing = createGauges(
    registry,
    ['job', 'project', 'stream'],
    single(
      'job_failing_seconds',
      'Time since the job first failed; absent for jobs that do not fail',
    ),
  )
  const showPaused = createGauges(
    registry,
    ['queue'],
    single('queue_paused', '1: someone paused the queue, so none of its jobs runs'),
  )
  const showReady = createGauges(
    registry,
    ['part'],
    single('ready', '1: the part (warehouse, queue) can be used; worker: it is not stopping'),
  )
  return (
    failing: readonly FailingJob[],
    ready: readonly ReadinessResult[],
    now: EpochMs,
  ): void => {
    // The shortest first: lanes, and modes of a stream, share labels, and the longest is to remain.
    const longestLast = failing.toSorted((a, b) => b.failure.since - a.failure.since)
    showFailing(
      longestLast.map(({ identity, failure }) => [
        jobLabels(identity),
        Math.max(0, now - failure.since) / 1000,
      ]),
    )
    const paused = failing.filter(({ identity }) => identity.job === 'queue')
    showPaused(paused.map(({ identity }) => [{ queue: identity.key }, 1]))
    showReady(ready.map(({ name, ok }) => [{ part: name }, Number(ok)]))
  }
}
