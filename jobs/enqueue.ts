/** Adds jobs to the queues. A job that waits or runs already is not added again. */

import { isChildStream } from '../schema/stream-specs.ts'
import type { Backend, JobQueue } from './backends/backend.ts'
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
} from './queues.ts'
import type { PlannedSyncJob } from './schedule-plan.ts'

export type JobQueues = {
  readonly schedules: JobQueue<SchedulerJob>
  readonly webhooks: JobQueue<WebhookJob>
  readonly writebacks: JobQueue<LaneJob>
} & Readonly<Record<SyncQueueName, JobQueue<SyncJob>>>

export function openJobQueues({ queue }: Backend): JobQueues {
  return {
    schedules: queue<SchedulerJob>('schedules'),
    sync: queue<SyncJob>('sync'),
    backfill: queue<SyncJob>('backfill'),
    webhooks: queue<WebhookJob>('webhooks'),
    writebacks: queue<LaneJob>('writebacks'),
  }
}

/** After that the next schedule firing is soon enough. */
const retryOptions = { attempts: 3, backoff: { type: 'exponential', delay: 5000 } } as const

export type JobEnqueuer = ReturnType<typeof createEnqueuer>

export function createEnqueuer(queues: JobQueues) {
  return {
    enqueueSyncJobs: async (all: readonly PlannedSyncJob[]): Promise<void> => {
      for (const name of syncQueueNames) {
        const jobs = all
          .filter(({ queue }) => queue === name)
          .map(({ job }) =>
            toEntry(job.stream, job, syncJobId(job), { ...retryOptions, again: isChildStream(job.stream) }),
          )
        if (jobs.length > 0) await queues[name].addBulk(jobs)
      }
    },
    enqueueWebhookJobs: async (all: readonly WebhookJob[]): Promise<void> => {
      const jobs = all.map((job) => toEntry('hint', job, webhookJobId(job), retryOptions))
      if (jobs.length > 0) await queues.webhooks.addBulk(jobs)
    },
    enqueueLanes: async (all: readonly LaneJob[]): Promise<void> => {
      const jobs = all.map((job) => toEntry('lane', job, laneJobId(job)))
      if (jobs.length > 0) await queues.writebacks.addBulk(jobs)
    },
  }
}

type EntryOptions = Partial<typeof retryOptions> & {
  /**
   * If the job runs already, it runs once more afterwards: it may have looked for its work before the latest was there. For
   * jobs that cost no request when there is none.
   */
  readonly again?: boolean
}

function toEntry<Data>(name: string, data: Data, id: string, { again = false, ...retries }: EntryOptions = {}) {
  return { name, data, opts: { ...retries, deduplication: { id, keepLastIfActive: again } } }
}
