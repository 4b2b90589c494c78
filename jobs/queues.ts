/** The queues and the data of their jobs: names only. What there is to do is in the warehouse. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { streamNames } from '../schema/stream-specs.ts'
import { scheduleNames } from '../src/config/default-schedules.ts'

/**
 * `sync`: the first time slice of an incremental sync run. `backfill`: its further slices, reconciles and audits, in rotation, so
 * that a history of years does not delay new rows.
 */
export const syncQueueNames = ['sync', 'backfill'] as const
export type SyncQueueName = (typeof syncQueueNames)[number]

/**
 * `schedules`: schedule firings; each job takes milliseconds. `webhooks`: each makes a handful of requests, and does not
 * wait for a sync run. `writebacks`: one job per lane that has something to send.
 */
export type QueueName = 'schedules' | SyncQueueName | 'webhooks' | 'writebacks'

const project = z.string().min(1)

const schedulerJobSchema = z.discriminatedUnion('round', [
  z.strictObject({ round: z.enum(scheduleNames), project }),
  z.strictObject({ round: z.literal('housekeeping') }),
])
export type SchedulerJob = z.infer<typeof schedulerJobSchema>

const syncJobSchema = z.strictObject({
  /** Its name in the configuration. */
  project,
  stream: z.enum(streamNames),
  /** `audit`: a random sample of the stream's rows, with their children. */
  mode: z.enum(['incremental', 'reconcile', 'audit']),
})
export type SyncJob = z.infer<typeof syncJobSchema>

const webhookJobSchema = z.strictObject({
  project,
  /** The delivery that the job was added for. The job processes all pending deliveries of the project. */
  delivery: z.string().min(1),
})
export type WebhookJob = z.infer<typeof webhookJobSchema>

const laneJobSchema = z.strictObject({
  project,
  /** The target of its write-backs: `conversation/…` or `visitor/…`. */
  lane: z.string().min(1),
})
export type LaneJob = z.infer<typeof laneJobSchema>

/** Null: data of another version, or of another program. */
function parserOf<Data>(schema: z.ZodType<Data>): (data: unknown) => Data | null {
  return (data) => schema.safeParse(data).data ?? null
}

export const parseSchedulerJob = parserOf(schedulerJobSchema)
export const parseSyncJob = parserOf(syncJobSchema)
export const parseWebhookJob = parserOf(webhookJobSchema)
export const parseLaneJob = parserOf(laneJobSchema)

/** While a job with this id waits or runs, no second one is added. BullMQ allows no colon. */
export function syncJobId({ project, stream, mode }: SyncJob): string {
  return `${project}/${stream}/${mode}`
}

export function webhookJobId({ project, delivery }: WebhookJob): string {
  return `${project}/${delivery}`
}

export function laneJobId({ project, lane }: LaneJob): string {
  return `${project}/${lane}`
}

/** A stable share from 0 to below 1: the position of a project's schedule within its period. */
export function schedulePhase(...names: readonly string[]): number {
  return createHash('sha256').update(names.join('/')).digest().readUInt32BE() / 2 ** 32
}
