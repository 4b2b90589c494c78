/** The queues, and the data of their jobs: names only. What there is to do is in the warehouse. */
import { z } from 'zod'
import { isChildStream, streamNames } from '../schema/stream-specs.ts'
import { scheduleNames } from '../src/config/schedules.ts'
import type { Ms } from '../src/values/time.ts'
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
 * `schedules`: firings and webhooks, which add the syncs: BullMQ gives no id to what a schedule
 * adds, so a list might be read twice. `sync`: the first slice of an incremental run. `backfill`:
 * further slices, and reconciles, so that a history of years does not delay new rows. `audits`:
 * long jobs, apart from the slots of syncs. `lakes`: one job per lake. `writebacks`: one job per lane
 * (`conversation/…`, `visitor/…`).
 */
const jobSchemas = {
  schedules: z.discriminatedUnion('schedule', [
    z.strictObject({ schedule: z.enum([...scheduleNames, 'webhook']), project }),
    z.strictObject({ schedule: z.literal('housekeeping') }),
  ]),
  sync: syncJob,
  backfill: syncJob,
  audits: syncJob,
  /** `*`: the lake of the warehouse. */
  lakes: z.strictObject({ project }),
  writebacks: z.strictObject({ project, lane: z.string().min(1) }),
}

export type QueueName = keyof typeof jobSchemas
export type JobData<Queue extends QueueName> = z.infer<(typeof jobSchemas)[Queue]>
export type SchedulerJob = JobData<'schedules'>
export type SyncJob = JobData<'sync'>

/** Null: data of another version, or of another program. */
export function parseJob<Queue extends QueueName>(
  queue: Queue,
  data: unknown,
): JobData<Queue> | null {
  return (jobSchemas[queue].safeParse(data).data ?? null) as JobData<Queue> | null
}

/** While a job with this id waits or runs, no second one is added. BullMQ allows no colon. */
export function jobId<Queue extends QueueName>(queue: Queue, data: JobData<Queue>): string {
  return Object.values(jobSchemas[queue].parse(data)).join('/')
}

export type PlannedSyncJob = {
  readonly queue: 'sync' | 'backfill' | 'audits'
  readonly job: SyncJob
  /** If the job runs now, it runs once more: it may have read what is older. */
  readonly followsActive?: boolean
}

/** How long after the first of some webhooks the sync begins that is for all of them. */
const wakeAfterMs: Ms = 5000

export type JobQueues = ReturnType<typeof openJobQueues>

export function openJobQueues({ queue }: Backend, wakeDelayMs: Ms = wakeAfterMs) {
  const queues: { readonly [Queue in QueueName]: JobQueue<JobData<Queue>> } = {
    schedules: queue('schedules'),
    sync: queue('sync'),
    backfill: queue('backfill'),
    audits: queue('audits'),
    lakes: queue('lakes'),
    writebacks: queue('writebacks'),
  }
  /** A job that waits or runs already is not added again. */
  const enqueueLanes = async (lanes: readonly JobData<'writebacks'>[]): Promise<void> => {
    if (lanes.length > 0) await queues.writebacks.addBulk(lanes.map(toLaneJob))
  }
  const enqueueSyncJobs = async (all: readonly PlannedSyncJob[]): Promise<void> => {
    for (const [name, planned] of Map.groupBy(all, ({ queue }) => queue))
      await queues[name].addBulk(planned.map(toSyncJob))
  }
  /**
   * A webhook arrived. A sync begins after a delay, and every webhook until then shares it,
   * whichever process received it: one for each delay, however many arrive. One that arrives while
   * the syncs are enqueued delays another job, and a list whose sync runs by then is synced once
   * more. Only a queue that loses its jobs leaves a webhook to the schedules.
   */
  const wake = async (project: string): Promise<void> => {
    const data = { schedule: 'webhook', project } as const
    const deduplication = { id: jobId('schedules', data), keepLastIfActive: true }
    const opts = { delay: wakeDelayMs, deduplication }
    await queues.schedules.addBulk([{ name: data.schedule, data, opts }])
  }
  return { queues, enqueueLanes, enqueueSyncJobs, wake }
}

/** After that the next schedule firing is soon enough. */
export const retries = { attempts: 3, backoff: { type: 'exponential', delay: 5000 } } as const

function toLaneJob(data: JobData<'writebacks'>): NewJob<JobData<'writebacks'>> {
  return { name: 'lane', data, opts: { deduplication: { id: jobId('writebacks', data) } } }
}

function toSyncJob({ queue, job, followsActive = false }: PlannedSyncJob): NewJob<SyncJob> {
  // A child's job may have looked for its work before it was there. Without work, it costs nothing.
  const keepLastIfActive = followsActive || isChildStream(job.stream)
  const deduplication = { id: jobId(queue, job), keepLastIfActive }
  return { name: job.stream, data: job, opts: { ...retries, deduplication } }
}
