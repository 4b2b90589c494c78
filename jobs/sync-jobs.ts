/** One time slice of a sync run, as a job: its result, and what to do next. */
import type { SyncSliceResult } from '../src/app/worker/sync-slice.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import { assertNever } from '../src/core/assert-never.ts'
import { isListStream } from '../src/core/stream-specs.ts'
import type { Ms } from '../src/core/time.ts'
import type { RunningJob } from './backends/backend.ts'
import { dropJob, type JobDeps } from './job-deps.ts'
import { syncJobSubject } from './job-errors.ts'
import type { JobResult } from './job-result.ts'
import { parseSyncJob, type SyncJob, type SyncQueueName } from './queues.ts'
import { incrementalSyncJobs } from './schedule-plan.ts'

/** A stream that another process reads is retried for this long; then the next firing is soon enough. */
const busyRetryForMs = 15 * 60_000

export async function runSyncJob(queue: SyncQueueName, job: RunningJob<unknown>, deps: JobDeps): Promise<JobResult> {
  const syncJob = parseSyncJob(job.data)
  const project = syncJob === null ? undefined : deps.findProject(syncJob.project)
  if (syncJob === null || project === undefined || !project.streams.includes(syncJob.stream)) {
    return dropJob(queue, job, deps, 'project or stream')
  }
  const startedAt = performance.now()
  const end = await deps.workerContext.runSyncSlice(project, {
    ...syncJob,
    sliceMs: deps.sliceMs,
    signal: deps.stopping,
  })
  const tookMs = Math.round(performance.now() - startedAt)
  const subject = syncJobSubject(syncJob, deps)
  if (end.kind === 'done' || end.kind === 'more') await deps.failures.recordSuccess(subject)
  const isNewFailure = end.kind === 'failed' && (await deps.failures.recordFailure(subject, end.why, true))
  logSyncJobEnd(deps, syncJob, end, tookMs, isNewFailure)
  const result = await jobResultOf(queue, job, syncJob, project, end, deps)
  deps.metrics.countJob({ queue, verdict: result.do })
  return result
}

async function jobResultOf(
  queue: SyncQueueName,
  job: RunningJob<unknown>,
  syncJob: SyncJob,
  project: ProjectConfig,
  end: SyncSliceResult,
  deps: JobDeps,
): Promise<JobResult> {
  switch (end.kind) {
    case 'done':
      await enqueueChildren(syncJob, project, deps)
      await enqueueRollups(syncJob, project, end.changed > 0, deps)
      return { do: 'done' }
    case 'more': {
      const remaining = { ...syncJob, mode: end.mode }
      if (queue === 'backfill' && remaining.mode === syncJob.mode) return { do: 'again', afterMs: 1 }
      await deps.enqueueSyncJobs([{ queue: 'backfill', job: remaining }])
      await enqueueChildren(syncJob, project, deps)
      return { do: 'done' }
    }
    case 'busy': {
      const waited = Date.now() - job.timestamp
      return waited > busyRetryForMs ? { do: 'done' } : { do: 'again', afterMs: 2000 + deps.random() * 3000 }
    }
    case 'interrupted':
      return { do: 'again', afterMs: 1 }
    case 'paused':
      return { do: 'done' }
    case 'failed':
      return { do: 'retry', why: end.why }
    default:
      return assertNever(end)
  }
}

/** Children of a list's rows are read at once, even if the list itself still has years to read. */
async function enqueueChildren({ stream }: SyncJob, project: ProjectConfig, deps: JobDeps): Promise<void> {
  if (!isListStream(stream)) return
  await deps.enqueueSyncJobs(
    incrementalSyncJobs('passes', project, await deps.workerContext.markSyncedAndListPending(project)),
  )
}

/** The first day of the rollups is known when the lists have been read, and changes with an earlier row or a setting. */
async function enqueueRollups(
  { stream }: SyncJob,
  project: ProjectConfig,
  hasNewRows: boolean,
  deps: JobDeps,
): Promise<void> {
  if (stream === 'analytics' || (!hasNewRows && deps.rollupsChecked.has(project))) return
  if (await deps.workerContext.areRollupsBehind(project))
    await deps.enqueueSyncJobs(incrementalSyncJobs('backfill', project, ['analytics']))
  deps.rollupsChecked.add(project)
}

function logSyncJobEnd(
  { metrics, log }: JobDeps,
  { project, stream, mode }: SyncJob,
  end: SyncSliceResult,
  tookMs: Ms,
  isNewFailure: boolean,
): void {
  const fields = { project, stream, mode, took_ms: tookMs }
  if (end.kind === 'done') {
    metrics.observeSyncRun({ stream, mode, outcome: end.outcome, tookMs })
    log.info({ event: 'sync.ended', ...fields, outcome: end.outcome, changed: end.changed })
  } else if (end.kind === 'failed') {
    metrics.observeSyncRun({ stream, mode, outcome: 'failed', tookMs })
    // While the service is down every sync run fails for the same reason, again and again.
    log[isNewFailure ? 'warn' : 'debug']({ event: 'sync.failed', ...fields, why: end.why })
  } else {
    if (end.kind === 'more') metrics.observeSyncRun({ stream, mode, outcome: 'interrupted', tookMs })
    log.debug({ event: `sync.${end.kind}`, ...fields })
  }
}
