/** Maintenance: restores missing schedules, and enqueues overdue work that it finds in the warehouse. */

import type { ProjectConfig } from '../src/config/config.ts'
import type { Logger } from '../src/log.ts'
import type { FailingJob } from '../src/maintenance/core/job-failure.ts'
import type { ProjectRuns } from '../src/maintenance/sql/stream-states.ts'
import type { EpochMs } from '../src/values/time.ts'
import type { JobFailures } from '../src/worker/job-failures.ts'
import type { WorkerContext } from '../src/worker/worker-context.ts'
import type { Backend, JobQueue } from './backends/backend.ts'
import type { JobEnqueuer, JobQueues } from './enqueue.ts'
import {
  configurationDigest,
  housekeeping,
  missedSyncJobs,
  runsTellForMs,
  schedulesForProjects,
} from './project-schedules.ts'
import { parseSyncJob, type SchedulerJob } from './queues.ts'
import { overdueSyncJobs, type PlannedSyncJob } from './schedule-plan.ts'
import { pendingWebhookJobs } from './webhook-receiver.ts'

type MaintenanceDeps = {
  readonly workerContext: WorkerContext
  readonly backend: Backend
  readonly queues: JobQueues
  readonly failures: JobFailures
  readonly enqueuer: JobEnqueuer
}

/**
 * Each worker records its heartbeat and which queues are paused, and enqueues the sync jobs again that the warehouse failed. Only one of them restores
 * the schedules and enqueues what is overdue.
 */
export function createMaintenance(
  { workerContext, backend, queues, failures, enqueuer }: MaintenanceDeps,
  projects: () => readonly ProjectConfig[],
  log: Logger,
): () => Promise<void> {
  const syncSchedules = createScheduleSync(backend, queues.schedules)
  let didDiffer = false
  // Nobody else uses its queue, and it forgets what was missed.
  const isAlone = backend.kind === 'embedded'
  let mayHaveMissed = isAlone
  return async () => {
    await workerContext.recordHeartbeat(backend.kind, configurationDigest(projects()))
    const differ = await workerContext.workersDiffer()
    if (differ && !didDiffer) log.warn({ event: 'workers.differ', why: 'workers have different projects or schedules' })
    if (!differ && didDiffer) log.info({ event: 'workers.agree' })
    didDiffer = differ
    // Refreshing forgets them.
    await enqueuer.enqueueSyncJobs(syncJobsToRetry(failures.list()))
    await failures.refresh()
    await notePausedQueues(queues, backend, failures)
    await noteLargeLog(workerContext.describeLargeLog(), failures)
    const isLeader = isAlone || (await workerContext.tryAcquireLeadership())
    if (isLeader || differ) await syncSchedules(projects(), Date.now(), isLeader, differ)
    if (!isLeader) return
    const { streamStates, deliveries } = workerContext.warehouse
    const completions = await workerContext.lastCompletions()
    const pendingChildren = await streamStates.allPendingChildStreams(Date.now())
    await enqueuer.enqueueSyncJobs(overdueSyncJobs(projects(), completions, pendingChildren, Date.now()))
    if (mayHaveMissed) {
      const runs = await streamStates.readRuns(Date.now() - runsTellForMs)
      await enqueuer.enqueueSyncJobs(missedSyncJobs(projects(), completions, runs, Date.now()))
      if (isHousekeepingLate(runs))
        await queues.schedules.addBulk([{ name: housekeeping.job, data: housekeeping.data }])
      mayHaveMissed = false
    }
    const dueDeliveries = await deliveries.firstDuePerProject(Date.now())
    await enqueuer.enqueueWebhookJobs(pendingWebhookJobs(projects(), dueDeliveries))
  }
}

/** It deletes runs without changes after a week, every night. */
function isHousekeepingLate(runs: ReadonlyMap<string, ProjectRuns>): boolean {
  const lateMs = 9 * 86_400_000
  return [...runs.values()].some(({ oldestIdleAt }) => oldestIdleAt !== null && Date.now() - oldestIdleAt > lateMs)
}

/** This program never pauses one, but whoever can reach the queue's store can, and then nothing else fails. */
async function notePausedQueues(
  queues: JobQueues,
  { resumeStep }: Pick<Backend, 'resumeStep'>,
  failures: JobFailures,
): Promise<void> {
  for (const [key, queue] of Object.entries(queues)) {
    const identity = { job: 'queue', project: null, key, stream: null } as const
    if (await queue.isPaused())
      await failures.recordFailure(
        identity,
        new Error(`it is paused, so no worker takes its jobs; to resume it: ${resumeStep(queue.name ?? key)}`),
      )
    else await failures.recordSuccess(identity)
  }
}

async function noteLargeLog(why: string | null, failures: JobFailures): Promise<void> {
  const identity = { job: 'write_ahead_log', project: null, key: '', stream: null } as const
  await (why === null ? failures.recordSuccess(identity) : failures.recordFailure(identity, new Error(why)))
}

/** Sync jobs that the warehouse failed: it may work again, and their schedule may be a night away. */
function syncJobsToRetry(failing: readonly FailingJob[]): PlannedSyncJob[] {
  const warehouseFailed = failing.filter(({ isWarehouseError }) => isWarehouseError)
  return warehouseFailed.flatMap(({ identity: { project, stream, mode } }): PlannedSyncJob[] => {
    const job = parseSyncJob({ project: project?.name, stream, mode })
    return job === null ? [] : [{ queue: 'sync', job }]
  })
}

/** A full check of thousands of schedules runs when something may have changed, else once an hour. */
const fullCheckEveryMs = 3_600_000

export function createScheduleSync(backend: Pick<Backend, 'ensureSchedules'>, clock: JobQueue<SchedulerJob>) {
  let lastSync: { readonly wantedKey: string; readonly at: EpochMs } | null = null
  /**
   * `isLeader`: others only add what is missing. `differ`: other workers have other projects or schedules, so what is
   * unknown here may be theirs and stays.
   */
  return async (
    projects: readonly ProjectConfig[],
    now: EpochMs,
    isLeader: boolean,
    differ: boolean,
  ): Promise<void> => {
    const wanted = schedulesForProjects(projects)
    const wantedKey = JSON.stringify([isLeader, wanted])
    const count = await clock.getJobSchedulersCount()
    const isComplete = differ ? count >= wanted.length : count === wanted.length
    if (isComplete && lastSync?.wantedKey === wantedKey && now - lastSync.at < fullCheckEveryMs) return
    const found = new Set((await clock.getJobSchedulers(0, -1)).map(({ key }) => key))
    await backend.ensureSchedules(clock, isLeader ? wanted : wanted.filter(({ id }) => !found.has(id)))
    const known = new Set(wanted.map(({ id }) => id))
    if (!differ) for (const id of found) if (!known.has(id)) await clock.removeJobScheduler(id)
    lastSync = { wantedKey, at: now }
  }
}
