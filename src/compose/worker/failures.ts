/**
 * What fails in this worker: said once and not each time, counted each time, and noted in the warehouse until the same
 * job has succeeded. An outage of the warehouse is one event, however many jobs meet it.
 */
import { type FailingJob, isForgotten, type JobFailure, type JobSubject, streamOf } from '../../core/job-failure.ts'
import type { EpochMs } from '../../core/time.ts'
import { UserError } from '../../core/user-error.ts'
import type { Logger } from '../../log.ts'
import { WarehouseError } from '../../warehouse/database/trouble.ts'
import type { FailureLog } from '../../warehouse/failures.ts'
import { gist } from './news.ts'

export type JobFailures = {
  /**
   * A job threw, or came to nothing; `said`: whoever reports it tells the log. Resolves to whether that is news: it did not
   * fail before, or for another reason. Never rejects.
   */
  readonly failed: (about: JobSubject, error: unknown, said?: boolean) => Promise<boolean>
  /** A job did what it should. Never rejects. */
  readonly succeeded: (about: JobSubject) => Promise<void>
  /** Learns what other workers noted, and notes what could not be noted before. Rejects where the warehouse is away. */
  readonly refresh: () => Promise<void>
  readonly all: () => readonly FailingJob[]
  /** Why the warehouse cannot be used, as jobs have shown; null: nothing has shown that. */
  readonly warehouseTrouble: () => string | null
}

export type JobFailuresDeps = {
  readonly notes: FailureLog
  readonly projects: () => readonly { readonly name: string; readonly projectId: string }[]
  readonly log: Logger
  readonly onFailure: (about: JobSubject) => void
  readonly now?: () => EpochMs
}

type Cause = WarehouseError['kind'] | 'other'
type Entry = {
  readonly about: JobSubject
  readonly failure: JobFailure
  readonly cause: Cause
  readonly noted: boolean
}

/** More at once are counted only: where so many fail, their number is what matters. */
const mostKept = 500

export function createJobFailures({ notes, projects, log, onFailure, now = Date.now }: JobFailuresDeps): JobFailures {
  const failing = new Map<string, Entry>()
  /** Rows of what has succeeded: they may still be read, or could not be removed yet. */
  const over = new Map<string, { readonly failure: JobFailure; readonly removed: boolean }>()
  const outage = outageOf(log, now)

  const note = async (key: string): Promise<void> => {
    const entry = failing.get(key)
    if (entry === undefined) return
    const noted = await notes.note(entry.failure).then(
      () => true,
      () => false,
    )
    const latest = failing.get(key)
    if (latest !== undefined) failing.set(key, { ...latest, noted })
  }
  const remove = async (key: string, failure: JobFailure): Promise<void> => {
    failing.delete(key)
    over.set(key, { failure, removed: false })
    await notes.clear(failure).then(
      () => over.set(key, { failure, removed: true }),
      () => {},
    )
  }
  const settle = () => outage.settle([...failing.values()].some(({ cause }) => cause === 'unusable'))

  return {
    failed: async (about, error, said = false) => {
      onFailure(about)
      const key = keyOf(about)
      const before = failing.get(key)
      if (before === undefined && failing.size >= mostKept) return false
      const cause: Cause = error instanceof WarehouseError ? error.kind : 'other'
      const failure = afterFailure(before?.failure, about, reasonOf(error), now())
      failing.set(key, { about, failure, cause, noted: before?.noted ?? false })
      const isNews = before === undefined || gist(before.failure.reason) !== gist(failure.reason)
      if (cause !== 'other') outage.failed(about, error, cause)
      else if (!said) log[isNews ? 'error' : 'debug']({ event: 'job.failed', ...fieldsOf(about), ...wordsOf(error) })
      settle()
      // The question would wait for the answer of a server that is away, and so would the job.
      if (cause !== 'away') await note(key)
      return isNews
    },
    succeeded: async (about) => {
      if (about.job !== 'schedule') outage.answered()
      const key = keyOf(about)
      const entry = failing.get(key)
      if (entry !== undefined) {
        const { failure, cause } = entry
        const told = { failures: failure.failures, for_ms: now() - failure.since }
        // First: whoever hears of it and looks sees that it is so.
        await remove(key, failure)
        log[cause === 'other' ? 'info' : 'debug']({ event: 'job.recovered', ...fieldsOf(about), ...told })
      }
      settle()
    },
    refresh: async () => {
      const noted = new Set([...failing].filter(([, entry]) => entry.noted).map(([key]) => key))
      for (const [key, { removed }] of over) if (removed) over.delete(key)
      const rows = new Map((await notes.all()).map((failure) => [keyOfFailure(failure), failure]))
      outage.answered()
      for (const key of noted) if (!rows.has(key)) failing.delete(key)
      for (const [key, failure] of rows) {
        const about = aboutOf(failure, projects())
        if (!failing.has(key) && !over.has(key)) failing.set(key, { about, failure, cause: 'other', noted: true })
      }
      for (const [key, { failure }] of failing) if (isForgotten(failure, now())) await remove(key, failure)
      for (const [key, { failure, removed }] of over) if (!removed) await remove(key, failure)
      for (const [key, entry] of failing) if (!entry.noted) await note(key)
      settle()
    },
    all: () =>
      [...failing.values()].map(({ about, failure, cause }) => ({ about, failure, byWarehouse: cause !== 'other' })),
    warehouseTrouble: outage.why,
  }
}

/** Whether the warehouse can be used, as jobs meet it: one line when that ends, and one when it is so again. */
function outageOf(log: Logger, now: () => EpochMs) {
  let lost: { readonly since: EpochMs; readonly why: string; failures: number } | null = null
  let isAway = false
  return {
    failed: (about: JobSubject, error: unknown, cause: Cause) => {
      isAway ||= cause === 'away'
      const told = { ...fieldsOf(about), ...wordsOf(error) }
      if (lost === null) log.error({ event: 'warehouse.lost', ...told })
      else log.debug({ event: 'job.failed', ...told })
      lost ??= { since: now(), why: reasonOf(error), failures: 0 }
      lost.failures += 1
    },
    /** It has answered, whatever it was asked. */
    answered: () => {
      isAway = false
    },
    settle: (unusable: boolean) => {
      if (lost === null || isAway || unusable) return
      log.info({ event: 'warehouse.back', for_ms: now() - lost.since, failures: lost.failures })
      lost = null
    },
    why: () => lost?.why ?? null,
  }
}

function afterFailure(
  before: JobFailure | undefined,
  { job, project, subject }: JobSubject,
  reason: string,
  now: EpochMs,
): JobFailure {
  const since = before?.since ?? now
  const failures = (before?.failures ?? 0) + 1
  return { job, projectId: project?.projectId ?? '', subject, since, lastAt: now, failures, reason }
}

function keyOf({ job, project, subject }: JobSubject): string {
  return `${project?.projectId ?? ''} ${job} ${subject}`
}

function keyOfFailure({ job, projectId, subject }: JobFailure): string {
  return `${projectId} ${job} ${subject}`
}

function aboutOf(failure: JobFailure, projects: ReturnType<JobFailuresDeps['projects']>): JobSubject {
  const { job, projectId, subject } = failure
  const known = projects.find((project) => project.projectId === projectId)
  const project = projectId === '' ? null : (known ?? { name: projectId, projectId })
  return { job, project, subject, stream: streamOf(failure) }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function wordsOf(error: unknown) {
  const why = reasonOf(error)
  const next = error instanceof UserError && error.next !== '' ? { next: error.next } : {}
  return error instanceof Error ? { why, ...next, stack: error.stack } : { why }
}

function fieldsOf({ job, project, subject, stream }: JobSubject) {
  return {
    job,
    ...(project === null ? {} : { project: project.name }),
    ...(stream === null ? {} : { stream }),
    ...(subject === '' ? {} : { subject }),
  }
}
