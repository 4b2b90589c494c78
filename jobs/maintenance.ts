/** Maintenance: restores missing schedules, and enqueues overdue work that it finds in the warehouse. */
import type { JobFailures } from '../src/app/worker/job-failures.ts'
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import type { FailingJob } from '../src/core/job-failure.ts'
import type { Backend } from './backends/backend.ts'
import type { JobEnqueuer, JobQueues } from './enqueue.ts'
import { parseSyncJob } from './queues.ts'
import { overdueSyncJobs, type PlannedSyncJob } from './schedule-plan.ts'
import { createScheduleSync } from './schedule-sync.ts'
import { pendingWebhookJobs } from './webhook-receiver.ts'

export type MaintenanceDeps = {
  readonly workerContext: WorkerContext
  readonly backend: Backend
  readonly queues: JobQueues
  readonly failures: JobFailures
  readonly enqueuer: JobEnqueuer
}

/**
 * Each worker records its heartbeat, and enqueues the sync jobs again that the warehouse failed. Only one of them restores
 * the schedules and enqueues what is overdue.
 */
export function createMaintenance(
  { workerContext, backend, queues, failures, enqueuer }: MaintenanceDeps,
  projects: () => readonly ProjectConfig[],
): () => Promise<void> {
  const syncSchedules = createScheduleSync(backend, queues.clock)
  return async () => {
    await workerContext.recordHeartbeat(backend.kind)
    await failures.refresh()
    await enqueuer.enqueueSyncJobs(syncJobsToRetry(failures.list()))
    if (!(await workerContext.tryAcquireLeadership('caretaker'))) return
    await syncSchedules(projects(), Date.now())
    const completions = await workerContext.lastCompletions()
    const pendingChildren = await workerContext.allPendingChildStreams()
    await enqueuer.enqueueSyncJobs(overdueSyncJobs(projects(), completions, pendingChildren, Date.now()))
    await enqueuer.enqueueWebhookJobs(pendingWebhookJobs(projects(), await workerContext.dueDeliveries()))
  }
}

/** Sync jobs that the warehouse failed: it may work again, and their schedule may be a night away. */
function syncJobsToRetry(failing: readonly FailingJob[]): PlannedSyncJob[] {
  return failing.flatMap(({ subject, failure, isWarehouseError }): PlannedSyncJob[] => {
    const [, mode] = failure.subject.split('/')
    const job = isWarehouseError ? parseSyncJob({ project: subject.project?.name, stream: subject.stream, mode }) : null
    return job === null ? [] : [{ queue: 'passes', job }]
  })
}
