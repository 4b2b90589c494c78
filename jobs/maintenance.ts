/** Maintenance: restores missing schedules, and enqueues overdue work that it finds in the warehouse. */
import type { JobFailures } from '../src/app/worker/job-failures.ts'
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import type { FailingJob } from '../src/core/job-failure.ts'
import type { Logger } from '../src/log.ts'
import type { Backend } from './backends/backend.ts'
import type { JobEnqueuer, JobQueues } from './enqueue.ts'
import { configurationDigest } from './project-schedules.ts'
import { parseSyncJob } from './queues.ts'
import { overdueSyncJobs, type PlannedSyncJob } from './schedule-plan.ts'
import { createScheduleSync } from './schedule-sync.ts'
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
  return async () => {
    await workerContext.recordHeartbeat(backend.kind, configurationDigest(projects()))
    const differ = await workerContext.workersDiffer()
    if (differ && !didDiffer) log.warn({ event: 'workers.differ', why: 'workers have different projects or schedules' })
    if (!differ && didDiffer) log.info({ event: 'workers.agree' })
    didDiffer = differ
    // Refreshing forgets them.
    await enqueuer.enqueueSyncJobs(syncJobsToRetry(failures.list()))
    await failures.refresh()
    await notePausedQueues(queues, failures)
    const isLeader = await workerContext.tryAcquireLeadership()
    if (isLeader || differ) await syncSchedules(projects(), Date.now(), isLeader, differ)
    if (!isLeader) return
    const { streamStates, deliveries, isAway } = workerContext.warehouse
    const completions = await workerContext.lastCompletions()
    const pendingChildren = await streamStates.allPendingChildStreams(Date.now())
    // Of a project whose database is away nothing is known; all of it would look overdue.
    const known = projects().filter(({ projectId }) => !isAway(projectId))
    await enqueuer.enqueueSyncJobs(overdueSyncJobs(known, completions, pendingChildren, Date.now()))
    const dueDeliveries = await deliveries.firstDuePerProject(Date.now())
    await enqueuer.enqueueWebhookJobs(pendingWebhookJobs(known, dueDeliveries))
  }
}

/** This program never pauses one, but whoever can reach the queue's store can, and then nothing else fails. */
async function notePausedQueues(queues: JobQueues, failures: JobFailures): Promise<void> {
  for (const [key, queue] of Object.entries(queues)) {
    const identity = { job: 'queue', project: null, key, stream: null } as const
    if (await queue.isPaused())
      await failures.recordFailure(
        identity,
        new Error(`it is paused, so no worker takes its jobs until someone resumes it`),
      )
    else await failures.recordSuccess(identity)
  }
}

/** Sync jobs that the warehouse failed: it may work again, and their schedule may be a night away. */
function syncJobsToRetry(failing: readonly FailingJob[]): PlannedSyncJob[] {
  const warehouseFailed = failing.filter(({ isWarehouseError }) => isWarehouseError)
  return warehouseFailed.flatMap(({ identity: { project, stream, mode } }): PlannedSyncJob[] => {
    const job = parseSyncJob({ project: project?.name, stream, mode })
    return job === null ? [] : [{ queue: 'sync', job }]
  })
}
