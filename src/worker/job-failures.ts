/**
 * Tracks the failing jobs of this worker: logged once, counted each time, and stored in the
 * warehouse until the same job succeeds. An outage of the warehouse is one event, however many jobs
 * it affects.
 */
import type { ProjectConfig } from '../config/config.ts'
import type { Metrics } from '../http/http.ts'
import type { Logger } from '../log.ts'
import { failedSync, isExpired } from '../maintenance/core/job-failure.ts'
import type { FailingJob, JobFailure, JobIdentity, JobKind } from '../maintenance/maintenance.ts'
import { clearJobFailure, listFailures, recordJobFailure } from '../maintenance/sql/workers.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { errorText, UserError } from '../values/user-error.ts'
import type { Db } from '../warehouse/connection-pool.ts'
import { WarehouseError } from '../warehouse/explain-error.ts'

export type JobFailures = ReturnType<typeof createJobFailures>

type FailureCause = WarehouseError['kind'] | 'other'

/** Their success says nothing of the warehouse. */
const withoutWarehouse: readonly JobKind[] = ['schedule', 'queue', 'write_ahead_log', 'notify']

/** Further failing jobs are only counted: with this many, the number is what matters. */
const maxTracked = 500

/** Workers store a failure within minutes, once the warehouse answers. */
const successKeptMs: Ms = 15 * 60_000

export function createJobFailures({
  db,
  projects,
  log,
  metrics,
  onFileLost = () => {},
  now = Date.now,
}: {
  readonly db: Db
  readonly projects: () => readonly Pick<ProjectConfig, 'name' | 'projectId'>[]
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'countJobFailure'>
  /** The file of the warehouse was removed or replaced: only a new process uses another one. */
  readonly onFileLost?: (error: WarehouseError) => void
  readonly now?: () => EpochMs
}) {
  const failing = new Map<
    string,
    {
      readonly identity: JobIdentity
      readonly failure: JobFailure
      readonly cause: FailureCause
      readonly isStored: boolean
    }
  >()
  /**
   * When each job succeeded last. Another worker may have stored an earlier failure of it, or store
   * it later.
   */
  const succeededAt = new Map<string, EpochMs>()
  const outage = createOutageTracker(log, now)
  const isUnusable = () => [...failing.values()].some(({ cause }) => cause === 'unusable')
  const updateOutage = () => outage.update(isUnusable())

  const storeEntry = async (key: string, failure: JobFailure): Promise<void> => {
    const isStored = await recordJobFailure(db, failure).then(
      () => true,
      () => false,
    )
    const latest = failing.get(key)
    if (latest !== undefined) failing.set(key, { ...latest, isStored })
  }
  /** If it fails, the next refresh finds the row again. */
  const removeEntry = async (key: string, failure: JobFailure): Promise<void> => {
    failing.delete(key)
    await clearJobFailure(db, failure).catch(() => {})
  }
  /** The warehouse has answered since `askedAt`. */
  const forgetRefuted = (askedAt: EpochMs) => {
    const isConfigured = (id: string) =>
      id === '' || projects().some(({ projectId }) => projectId === id)
    for (const [key, { cause, failure }] of failing) {
      const isRefuted = cause === 'unavailable' && failure.lastAt <= askedAt
      if (isRefuted || (cause !== 'other' && !isConfigured(failure.projectId))) failing.delete(key)
    }
    for (const [key, at] of succeededAt) if (now() - at > successKeptMs) succeededAt.delete(key)
  }

  return {
    /**
     * A job threw or failed; `isLogged`: the caller logs it. Resolves to whether this is a new
     * failure: the job did not fail before, or failed for another reason. Never rejects.
     */
    recordFailure: async (
      identity: JobIdentity,
      error: unknown,
      isLogged = false,
    ): Promise<boolean> => {
      metrics.countJobFailure(identity)
      if (error instanceof WarehouseError && /^FILE_(GONE|REPLACED)$/.test(error.code))
        onFileLost(error)
      const { job, project, key: subject } = identity
      const projectId = project?.projectId ?? ''
      const key = failureKey({ job, projectId, key: subject })
      const before = failing.get(key)
      succeededAt.delete(key)
      if (before === undefined && failing.size >= maxTracked) return false
      const cause: FailureCause = error instanceof WarehouseError ? error.kind : 'other'
      const failure = {
        job,
        projectId,
        key: subject,
        since: before?.failure.since ?? now(),
        lastAt: now(),
        failures: (before?.failure.failures ?? 0) + 1,
        reason: errorText(error),
      }
      failing.set(key, { identity, failure, cause, isStored: before?.isStored ?? false })
      const isNewReason =
        before === undefined ||
        maskIdsAndNumbers(before.failure.reason) !== maskIdsAndNumbers(failure.reason)
      if (cause !== 'other') outage.failed(identity, error, cause)
      else if (!isLogged)
        log[isNewReason ? 'error' : 'debug']({
          event: 'job.failed',
          ...jobFields(identity),
          ...errorFields(error),
        })
      updateOutage()
      // While the server is away, storing would wait for its response, and so would the job.
      if (cause !== 'unavailable') await storeEntry(key, failure)
      return isNewReason
    },
    /** A job succeeded. Never rejects. */
    recordSuccess: async (identity: JobIdentity): Promise<void> => {
      if (!withoutWarehouse.includes(identity.job)) outage.responded()
      const key = failureKey({ ...identity, projectId: identity.project?.projectId ?? '' })
      succeededAt.set(key, now())
      const entry = failing.get(key)
      if (entry !== undefined) {
        const { failure, cause } = entry
        const logFields = { failures: failure.failures, for_ms: now() - failure.since }
        // Before logging: a reader of the log then sees the stored state.
        await removeEntry(key, failure)
        log[cause === 'other' ? 'info' : 'debug']({
          event: 'job.recovered',
          ...jobFields(identity),
          ...logFields,
        })
      }
      updateOutage()
    },
    /**
     * Reads what other workers stored, removes what a success here has refuted, and forgets the
     * failures of the warehouse that its answer refutes. Rejects if the warehouse is away.
     */
    refresh: async (): Promise<void> => {
      const stored = [...failing].filter(([, entry]) => entry.isStored).map(([key]) => key)
      const askedAt = now()
      const rows = new Map(
        (await listFailures(db)).map((failure) => [failureKey(failure), failure]),
      )
      outage.responded()
      forgetRefuted(askedAt)
      for (const key of stored) if (!rows.has(key)) failing.delete(key)
      for (const [key, failure] of rows) {
        if ((succeededAt.get(key) ?? 0) >= failure.lastAt) await removeEntry(key, failure)
        else if (!failing.has(key))
          failing.set(key, {
            identity: toJobIdentity(failure, projects()),
            failure,
            cause: 'other',
            isStored: true,
          })
      }
      for (const [key, { failure, cause, isStored }] of failing) {
        if (isExpired(failure, now(), cause !== 'other')) await removeEntry(key, failure)
        else if (!isStored) await storeEntry(key, failure)
      }
      updateOutage()
    },
    list: (): readonly FailingJob[] =>
      [...failing.values()].map(({ identity, failure, cause }) => ({
        identity,
        failure,
        isWarehouseError: cause !== 'other',
      })),
    /**
     * Why the warehouse cannot be used although it answers, according to the failed jobs; null: it
     * can, as far as known.
     */
    warehouseProblem: () => (isUnusable() ? outage.why() : null),
  }
}

/** Whether jobs can use the warehouse: one log line when an outage begins, and one when it ends. */
function createOutageTracker(log: Logger, now: () => EpochMs) {
  let outage: { readonly since: EpochMs; readonly why: string; failures: number } | null = null
  let isAway = false
  return {
    failed: (identity: JobIdentity, error: unknown, cause: FailureCause) => {
      isAway ||= cause === 'unavailable'
      const logFields = { ...jobFields(identity), ...errorFields(error) }
      if (outage === null) log.error({ event: 'warehouse.lost', ...logFields })
      else log.debug({ event: 'job.failed', ...logFields })
      outage ??= { since: now(), why: errorText(error), failures: 0 }
      outage.failures += 1
    },
    responded: () => {
      isAway = false
    },
    update: (isUnusable: boolean) => {
      if (outage === null || isAway || isUnusable) return
      log.info({ event: 'warehouse.back', for_ms: now() - outage.since, failures: outage.failures })
      outage = null
    },
    why: () => outage?.why ?? null,
  }
}

function failureKey({
  job,
  projectId,
  key,
}: Pick<JobFailure, 'job' | 'projectId' | 'key'>): string {
  return `${projectId} ${job} ${key}`
}

function toJobIdentity(
  failure: JobFailure,
  projects: readonly Pick<ProjectConfig, 'name' | 'projectId'>[],
): JobIdentity {
  const { job, projectId, key } = failure
  const known = projects.find((project) => project.projectId === projectId)
  const project = projectId === '' ? null : (known ?? { name: String(projectId), projectId })
  return { job, project, key, ...failedSync(failure) }
}

function errorFields(error: unknown) {
  const why = errorText(error)
  const next = error instanceof UserError && error.next !== '' ? { next: error.next } : {}
  return error instanceof Error ? { why, ...next, stack: error.stack } : { why }
}

function jobFields({ job, project, key, stream }: JobIdentity) {
  return {
    job,
    ...(project === null ? {} : { project: project.name }),
    ...(stream === null ? {} : { stream }),
    ...(key === '' ? {} : { subject: key }),
  }
}

const maxRemembered = 1000

/**
 * The filter returns whether no message like this one was logged recently, so that not each sync
 * run logs it again.
 */
export function createRepeatFilter(
  now: () => EpochMs = Date.now,
  repeatAfterMs: Ms = 24 * 3_600_000,
) {
  const loggedAt = new Map<string, EpochMs>()
  return (message: string): boolean => {
    const key = maskIdsAndNumbers(message)
    const lastAt = loggedAt.get(key)
    if (lastAt !== undefined && now() - lastAt < repeatAfterMs) return false
    if (loggedAt.size >= maxRemembered) loggedAt.clear()
    loggedAt.set(key, now())
    return true
  }
}

/** The message without ids and numbers, which differ when it is repeated. */
const maskIdsAndNumbers = (message: string): string =>
  message.slice(0, 500).replace(/[0-9a-f-]{8,}|\d+/gi, '#')
