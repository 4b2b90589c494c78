/** One time slice of a sync run, as a job: its result, and what to do next. */

import { isListStream } from '../schema/stream-specs.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import { auditedStreams } from '../src/mirror/core/audit.ts'
import { assertNever } from '../src/values/assert-never.ts'
import type { Ms } from '../src/values/time.ts'
import type { SliceLimits, SyncSliceResult } from '../src/worker/sync-slice.ts'
import type { JobResult } from './backends/backend.ts'
import { type JobDeps, type JobRun, type JobType, recordJobEnd } from './job-type.ts'
import { parseSyncJob, type SyncJob, type SyncQueueName } from './queues.ts'
import { incrementalSyncJobs } from './schedule-plan.ts'

export const syncJobs = (queue: SyncQueueName): JobType<SyncJob> => ({
  parse: parseSyncJob,
  identityOf: (data) =>
    data === null
      ? { job: 'pass' }
      : { job: 'pass', key: `${data.stream}/${data.mode}`, stream: data.stream, mode: data.mode },
  run: (run, deps) => runSyncJob(queue, run, deps),
})

async function runSyncJob(queue: SyncQueueName, { data, project, identity, addedAt }: JobRun<SyncJob>, deps: JobDeps) {
  if (data === null || project === undefined || !project.streams.includes(data.stream))
    return { missing: 'project or stream' }
  const { workerContext, sliceMs, stopping } = deps
  const startedAt = performance.now()
  const slice = { sliceMs, signal: stopping }
  const result = await runSlice(workerContext, project, data, slice)
  const tookMs = Math.round(performance.now() - startedAt)
  const isNewFailure = await recordJobEnd(deps, identity, result)
  logSyncJobEnd(deps, data, result, tookMs, isNewFailure)
  if (result.kind === 'done' && data.mode !== 'audit') {
    await enqueueChildren(data, project, deps)
    await enqueueRollups(data, project, result.changed > 0, deps)
  }
  if (result.kind === 'more' && !(queue === 'backfill' && result.mode === data.mode)) {
    await deps.enqueueSyncJobs([{ queue: 'backfill', job: { ...data, mode: result.mode } }])
    await enqueueChildren(data, project, deps)
    return done
  }
  return jobResultOf(result, Date.now() - addedAt, deps.random())
}

function runSlice(
  { runSyncSlice, runAuditSlice }: JobDeps['workerContext'],
  project: ProjectConfig,
  { stream, mode }: SyncJob,
  slice: SliceLimits,
): Promise<SyncSliceResult> {
  if (mode !== 'audit') return runSyncSlice(project, { ...slice, stream, mode })
  const audited = auditedStreams.find((name) => name === stream)
  return audited === undefined
    ? Promise.resolve({ kind: 'done', outcome: 'complete', changed: 0 })
    : runAuditSlice(project, { ...slice, stream: audited })
}

const done: JobResult = { do: 'done' }

/** A stream that another process reads is retried for this long; then the next firing is soon enough. */
const busyRetryForMs = 15 * 60_000

function jobResultOf(result: SyncSliceResult, sinceAddedMs: Ms, random: number): JobResult {
  switch (result.kind) {
    case 'done':
    case 'paused':
      return done
    case 'more':
    case 'interrupted':
      return { do: 'delay', afterMs: 1 }
    case 'busy':
      return sinceAddedMs > busyRetryForMs ? done : { do: 'delay', afterMs: 2000 + random * 3000 }
    case 'failed':
      return { do: 'retry', why: result.why }
    default:
      return assertNever(result)
  }
}

/** Children of a list's rows are read immediately, even if the list itself still has years to read. */
async function enqueueChildren({ stream }: SyncJob, project: ProjectConfig, deps: JobDeps): Promise<void> {
  if (!isListStream(stream)) return
  await deps.enqueueSyncJobs(
    incrementalSyncJobs('sync', project, await deps.workerContext.markSyncedAndListPending(project)),
  )
}

/** The first day of the rollups is known when the lists have been read, and moves if an earlier row arrives or a setting changes. */
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
  result: SyncSliceResult,
  tookMs: Ms,
  isNewFailure: boolean,
): void {
  const fields = { project, stream, mode, took_ms: tookMs }
  if (result.kind === 'done') {
    metrics.observeSyncRun({ stream, mode, outcome: result.outcome, tookMs })
    log.info({ event: 'sync.ended', ...fields, outcome: result.outcome, changed: result.changed })
  } else if (result.kind === 'failed') {
    metrics.observeSyncRun({ stream, mode, outcome: 'failed', tookMs })
    // While the service is down every sync run fails for the same reason, again and again.
    log[isNewFailure ? 'warn' : 'debug']({ event: 'sync.failed', ...fields, why: result.why })
  } else {
    if (result.kind === 'more') metrics.observeSyncRun({ stream, mode, outcome: 'interrupted', tookMs })
    log.debug({ event: `sync.${result.kind}`, ...fields })
  }
}
