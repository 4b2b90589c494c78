/** The queues, and the data of their jobs: names only. What there is to do is in the warehouse. */
import { z } from 'zod'
import { isChildStream, streamNames } from '../schema/stream-specs.ts'
import { scheduleNames } from '../src/config/default-schedules.ts'
import type { Backend, JobQueue, NewJob } from './backends/backend.ts'

/** Its name in the configuration. */
const project = z.string().min(1)

const syncJob = z.strictObject({
  project,
  stream: z.enum(streamNames),
  /** `audit`: a random sample of the stream's rows, with their children. */
  mode: z.enum(['incremental', 'reconcile', 'audit']),
})

/**
 * `schedules`: schedule firings; each job takes milliseconds. `sync`: the first time slice of an incremental sync run.
 * `backfill`: its further slices, and reconciles, in rotation, so that a history of years does not delay new rows.
 * `audits`: each is one long job, and holds no slot that a sync could have. `webhooks`: each makes a handful of requests,
 * and does not wait for a sync run; the job processes all pending deliveries of the project, whichever it was added for.
 * `writebacks`: one job per lane (`conversation/…` or `visitor/…`) that has something to send.
 */
const jobSchemas = {
  schedules: z.discriminatedUnion('round', [
    z.strictObject({ round: z.enum(scheduleNames), project }),
    z.strictObject({ round: z.literal('housekeeping') }),
  ]),
  sync: syncJob,
  backfill: syncJob,
  audits: syncJob,
  webhooks: z.strictObject({ project, delivery: z.string().min(1) }),
  writebacks: z.strictObject({ project, lane: z.string().min(1) }),
}

export type QueueName = keyof typeof jobSchemas
export type JobData<Queue extends QueueName> = z.infer<(typeof jobSchemas)[Queue]>
export type SchedulerJob = JobData<'schedules'>
export type SyncJob = JobData<'sync'>

/** Null: data of another version, or of another program. */
export function parseJob<Queue extends QueueName>(queue: Queue, data: unknown): JobData<Queue> | null {
  return (jobSchemas[queue].safeParse(data).data ?? null) as JobData<Queue> | null
}

/** While a job with this id waits or runs, no second one is added. BullMQ allows no colon. */
export function jobId<Queue extends QueueName>(queue: Queue, data: JobData<Queue>): string {
  return Object.values(jobSchemas[queue].parse(data)).join('/')
}

export type PlannedSyncJob = { readonly queue: 'sync' | 'backfill' | 'audits'; readonly job: SyncJob }

export type JobQueues = ReturnType<typeof openJobQueues>

export function openJobQueues({ queue }: Backend) {
  const queues: { readonly [Queue in QueueName]: JobQueue<JobData<Queue>> } = {
    schedules: queue('schedules'),
    sync: queue('sync'),
    backfill: queue('backfill'),
    audits: queue('audits'),
    webhooks: queue('webhooks'),
    writebacks: queue('writebacks'),
  }
  /** A job that waits or runs already is not added again. */
  const enqueue = async <Queue extends Exclude<QueueName, 'schedules'>>(
    name: Queue,
    jobs: readonly JobData<Queue>[],
  ): Promise<void> => {
    if (jobs.length > 0) await queues[name].addBulk(jobs.map((data) => toNewJob(name, data)))
  }
  const enqueueSyncJobs = async (all: readonly PlannedSyncJob[]): Promise<void> => {
    for (const name of ['sync', 'backfill', 'audits'] as const)
      await enqueue(
        name,
        all.filter(({ queue }) => queue === name).map(({ job }) => job),
      )
  }
  return { queues, enqueue, enqueueSyncJobs }
}

/** After that the next schedule firing is soon enough. */
const retries = { attempts: 3, backoff: { type: 'exponential', delay: 5000 } } as const

function toNewJob<Queue extends QueueName>(queue: Queue, data: JobData<Queue>): NewJob<JobData<Queue>> {
  const id = jobId(queue, data)
  if (queue === 'writebacks') return { name: 'lane', data, opts: { deduplication: { id } } }
  const stream = 'stream' in data ? data.stream : null
  // It may have looked for its work before the latest was there. Without work, the jobs of child streams cost no request.
  const deduplication = { id, keepLastIfActive: stream !== null && isChildStream(stream) }
  return { name: stream ?? 'hint', data, opts: { ...retries, deduplication } }
}
