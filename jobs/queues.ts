/** The queues and what their jobs carry: names only. A job is a wake-up call; what there is to do stands in the warehouse. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { streamNames } from '../src/core/row.ts'
import { scheduleNames } from '../src/core/schedule.ts'

/**
 * `clock`: what schedules announce; each job takes moments. `passes`: the first portion of every pass. `backfill`: whoever
 * did not end in the first portion, portion by portion, in turns; so a history of years never holds up tonight's news.
 */
export const syncQueueNames = ['passes', 'backfill'] as const
export type SyncQueueName = (typeof syncQueueNames)[number]
export type QueueName = 'clock' | SyncQueueName

/** A queue of their own, for what webhooks have brought: each job makes a handful of requests, and waits for no pass. */
export const webhookQueue = 'hints'

/** One job for each lane of write-backs that something can be done in. */
export const writebackQueue = 'writebacks'

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
  mode: z.enum(['incremental', 'reconcile']),
})
export type SyncJob = z.infer<typeof syncJobSchema>

const webhookJobSchema = z.strictObject({
  project,
  /** The delivery that it is announced for. Whoever works on it takes all that are due of the project. */
  delivery: z.string().min(1),
})
export type WebhookJob = z.infer<typeof webhookJobSchema>

const laneJobSchema = z.strictObject({
  project,
  /** What its write-backs are about: `conversation/…` or `visitor/…`. */
  lane: z.string().min(1),
})
export type LaneJob = z.infer<typeof laneJobSchema>

/** Null: of another version, or of nobody. */
export function parseSchedulerJob(data: unknown): SchedulerJob | null {
  return schedulerJobSchema.safeParse(data).data ?? null
}

export function parseSyncJob(data: unknown): SyncJob | null {
  return syncJobSchema.safeParse(data).data ?? null
}

export function parseWebhookJob(data: unknown): WebhookJob | null {
  return webhookJobSchema.safeParse(data).data ?? null
}

export function parseLaneJob(data: unknown): LaneJob | null {
  return laneJobSchema.safeParse(data).data ?? null
}

/** While a job of this id waits or works, another one like it is not taken. BullMQ allows no colon. */
export function syncJobId({ project, stream, mode }: SyncJob): string {
  return `${project}/${stream}/${mode}`
}

export function webhookJobId({ project, delivery }: WebhookJob): string {
  return `${project}/${delivery}`
}

export function laneJobId({ project, lane }: LaneJob): string {
  return `${project}/${lane}`
}

/** A share from 0 to below 1 that is the same each time: when within a period a project has its turn. */
export function schedulePhase(...names: readonly string[]): number {
  return createHash('sha256').update(names.join('/')).digest().readUInt32BE() / 2 ** 32
}
