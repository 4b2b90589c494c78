/** What each kind of job does, and whether it runs again. */
import { isChildStream, isListStream, type StreamName } from '../schema/stream-specs.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import type { JobIdentity } from '../src/maintenance/maintenance.ts'
import type { Ms } from '../src/values/time.ts'
import { assertNever } from '../src/values/user-error.ts'
import { runAuditJob } from '../src/worker/audit-job.ts'
import {
  areRollupsBehind,
  markSyncedAndListPending,
  runHousekeeping,
} from '../src/worker/project-health.ts'
import { runSyncSlice } from '../src/worker/sync-slice.ts'
import type { LaneSliceResult, SyncSliceResult } from '../src/worker/worker.ts'
import type { JobResult } from './backends/backend.ts'
import type { JobDeps, JobType } from './job-handler.ts'
import type { JobData, SchedulerJob, SyncJob } from './queues.ts'
import { syncJobsOfSchedule, toSyncJobs, wokenSyncJobs } from './schedule-plan.ts'

const done: JobResult = { do: 'done' }

function jobResultOf(end: SyncSliceResult | LaneSliceResult): JobResult {
  switch (end.kind) {
    case 'done':
    case 'failed':
      return done
    case 'more':
    case 'interrupted':
      return { do: 'delay', afterMs: 1 }
    case 'blocked':
      return end.retryMs === null ? done : { do: 'delay', afterMs: end.retryMs }
    default:
      return assertNever(end)
  }
}

/** Returns whether this is its first failure, or one for another reason. */
async function recordEnd(
  { failures }: JobDeps,
  identity: JobIdentity,
  end: SyncSliceResult | LaneSliceResult,
): Promise<boolean> {
  if (end.kind === 'done' || end.kind === 'more') await failures.recordSuccess(identity)
  return end.kind === 'failed' && failures.recordFailure(identity, end.why, true)
}

/** While the service is down all jobs fail alike, again and again. */
const failureLevel = (isNewFailure: boolean) => (isNewFailure ? 'warn' : 'debug')

/** Firings of schedules and webhooks enqueue sync jobs, and once a day run the housekeeping. */
export const schedulerJobs: JobType<SchedulerJob> = {
  identityOf: (data) =>
    data === null || data.schedule === 'housekeeping'
      ? { job: 'housekeeping' }
      : { job: 'schedule', key: data.schedule },
  run: async ({ data, project, identity, tookMs }, { context, enqueueSyncJobs, failures }) => {
    if (data === null) return { do: 'give up', why: 'the job names no known schedule' }
    if (data.schedule === 'housekeeping') {
      const { runsDeleted, expired } = await runHousekeeping(context)
      const counts = { runs_deleted: runsDeleted, expired }
      context.log.info({ event: 'housekeeping.completed', ...counts, took_ms: tookMs() })
    } else if (project === undefined) return { missing: 'project' }
    else if (data.schedule === 'webhook') await enqueueSyncJobs(wokenSyncJobs(project))
    else await enqueueSyncJobs(syncJobsOfSchedule(data.schedule, project))
    await failures.recordSuccess(identity)
    return done
  },
  afterError: afterFailedFiring,
}

const retryMs: Ms = 15_000
const retryForMs: Ms = 3_600_000

/** Frequent schedules fire again by themselves; a nightly one would be a day late. */
export function afterFailedFiring(data: SchedulerJob | null, why: string, sinceMs: Ms): JobResult {
  const isFrequent = data?.schedule === 'incremental' || data?.schedule === 'availability'
  if (isFrequent || sinceMs > retryForMs) return { do: 'give up', why }
  return { do: 'delay', afterMs: retryMs }
}

/** Sends for a time slice. The outbox poller finds what becomes due later. */
export const laneJobs: JobType<JobData<'writebacks'>> = {
  identityOf: (data) => ({ job: 'writebacks', key: data?.lane ?? '' }),
  run: async ({ data, project, identity, tookMs }, deps) => {
    if (data === null || project === undefined || project.readOnly)
      return { missing: 'project to write to' }
    const { context, failures, sliceMs, stopping } = deps
    const end = await context.lanes.runSlice(project, data.lane, { sliceMs, signal: stopping })
    const otherFailures = failures
      .list()
      .some(
        ({ identity: { job, project: failing } }) =>
          job === 'writebacks' && failing?.name === project.name,
      )
    const isNewFailure = await recordEnd(deps, identity, end)
    if (end.kind === 'failed')
      context.log[failureLevel(isNewFailure && !otherFailures)]({
        event: 'lane.failed',
        ...data,
        took_ms: tookMs(),
        why: end.why,
      })
    return jobResultOf(end)
  },
}

/** Of a stream that another process reads; then the next firing is soon enough. */
const blockedRetryForMs: Ms = 15 * 60_000

export const syncJobs: JobType<SyncJob> = {
  identityOf: (data) =>
    data === null
      ? { job: 'sync' }
      : { job: 'sync', key: `${data.stream}/${data.mode}`, stream: data.stream, mode: data.mode },
  run: async ({ data, project, identity, queue, addedAt, tookMs }, deps) => {
    if (data === null || project === undefined || !project.streams.includes(data.stream))
      return { missing: 'project or stream' }
    const { context, sliceMs, stopping: signal } = deps
    const { stream, mode } = data
    const end =
      mode === 'audit'
        ? await runAuditJob(context, project, { stream, sliceMs, signal })
        : await runSyncSlice(context, project, { stream, mode, sliceMs, signal })
    logSyncEnd(deps, data, end, tookMs(), await recordEnd(deps, identity, end))
    if (end.kind === 'done' && mode !== 'audit') {
      await enqueueChildren(stream, project, deps)
      await enqueueRollups(stream, project, end.changed > 0, deps)
    }
    if (end.kind === 'more') {
      // The first slice of a reconcile marks all children as pending; incremental slices read them.
      const next = isChildStream(stream) ? 'incremental' : mode
      if (queue !== 'backfill' || next !== mode) {
        await deps.enqueueSyncJobs([{ queue: 'backfill', job: { ...data, mode: next } }])
        await enqueueChildren(stream, project, deps)
        return done
      }
    }
    if (end.kind === 'failed') return { do: 'retry', why: end.why }
    if (end.kind === 'blocked' && Date.now() - addedAt > blockedRetryForMs) return done
    return jobResultOf(end)
  },
}

/** At once, even if the list itself still has years to read. */
async function enqueueChildren(
  stream: StreamName,
  project: ProjectConfig,
  deps: JobDeps,
): Promise<void> {
  if (!isListStream(stream)) return
  const pending = await markSyncedAndListPending(deps.context, project)
  await deps.enqueueSyncJobs(toSyncJobs('sync', project, pending))
}

/** The project configurations whose rollups this process has checked. */
const rollupsChecked = new WeakSet<ProjectConfig>()

/** Their first day is known when the lists have been read, and moves with an earlier row. */
async function enqueueRollups(
  stream: StreamName,
  project: ProjectConfig,
  hasNewRows: boolean,
  deps: JobDeps,
) {
  if (stream === 'analytics' || (!hasNewRows && rollupsChecked.has(project))) return
  if (await areRollupsBehind(deps.context, project))
    await deps.enqueueSyncJobs(toSyncJobs('backfill', project, ['analytics']))
  rollupsChecked.add(project)
}

function logSyncEnd(
  { context: { metrics, log } }: JobDeps,
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
    log[failureLevel(isNewFailure)]({ event: 'sync.failed', ...fields, why: end.why })
  } else {
    if (end.kind === 'more')
      metrics.observeSyncRun({ stream, mode, outcome: 'interrupted', tookMs })
    const why = end.kind === 'blocked' ? { why: end.why } : {}
    log.debug({ event: `sync.${end.kind}`, ...fields, ...why })
  }
}
