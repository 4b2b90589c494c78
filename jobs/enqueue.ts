/** Adds jobs to the queues. A job that waits or runs already is not added again. */
import type { Backend } from './backends/backend.ts'
import type { JobQueue } from './backends/ensure-schedule.ts'
import {
  type LaneJob,
  laneJobId,
  type SchedulerJob,
  type SyncJob,
  type SyncQueueName,
  syncJobId,
  syncQueueNames,
  type WebhookJob,
  webhookJobId,
  webhookQueue,
  writebackQueue,
} from './queues.ts'
import type { PlannedSyncJob } from './schedule-plan.ts'

export type JobQueues = {
  readonly clock: JobQueue<SchedulerJob>
  readonly hints: JobQueue<WebhookJob>
  readonly writebacks: JobQueue<LaneJob>
} & Readonly<Record<SyncQueueName, JobQueue<SyncJob>>>

export function openJobQueues({ queue }: Backend): JobQueues {
  return {
    clock: queue<SchedulerJob>('clock'),
    passes: queue<SyncJob>('passes'),
    backfill: queue<SyncJob>('backfill'),
    hints: queue<WebhookJob>(webhookQueue),
    writebacks: queue<LaneJob>(writebackQueue),
  }
}

export type JobEnqueuer = {
  readonly enqueueSyncJobs: (all: readonly PlannedSyncJob[]) => Promise<void>
  readonly enqueueWebhookJobs: (all: readonly WebhookJob[]) => Promise<void>
  readonly enqueueLanes: (all: readonly LaneJob[]) => Promise<void>
}

export function createEnqueuer(queues: JobQueues): JobEnqueuer {
  const { hints, writebacks } = queues
  return {
    enqueueSyncJobs: async (all) => {
      for (const name of syncQueueNames) {
        const jobs = all.filter(({ queue }) => queue === name).map(({ job }) => toSyncEntry(job))
        if (jobs.length > 0) await queues[name].addBulk(jobs)
      }
    },
    enqueueWebhookJobs: async (all) => {
      if (all.length > 0) await hints.addBulk(all.map(toWebhookEntry))
    },
    enqueueLanes: async (all) => {
      if (all.length > 0) await writebacks.addBulk(all.map(toLaneEntry))
    },
  }
}

/** After that the next schedule firing is soon enough. */
const retryOptions = { attempts: 3, backoff: { type: 'exponential', delay: 5000 } }

function toSyncEntry(data: SyncJob) {
  return { name: data.stream, data, opts: { ...retryOptions, deduplication: { id: syncJobId(data) } } }
}

function toWebhookEntry(data: WebhookJob) {
  return { name: 'hint', data, opts: { ...retryOptions, deduplication: { id: webhookJobId(data) } } }
}

function toLaneEntry(data: LaneJob) {
  return { name: 'lane', data, opts: { deduplication: { id: laneJobId(data) } } }
}
