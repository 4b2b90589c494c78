/** The queues and what their jobs carry: names only. A job is a wake-up call; what there is to do stands in the warehouse. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { streamNames } from '../src/core/row.ts'
import { roundNames } from '../src/core/schedule.ts'

/**
 * `clock`: what schedules announce; each job takes moments. `passes`: the first portion of every pass. `backfill`: whoever
 * did not end in the first portion, portion by portion, in turns; so a history of years never holds up tonight's news.
 */
export const passQueues = ['passes', 'backfill'] as const
export type PassQueue = (typeof passQueues)[number]
export type QueueName = 'clock' | PassQueue

/** A queue of their own, for what webhooks have brought: each job makes a handful of requests, and waits for no pass. */
export const hintQueue = 'hints'

/** One job for each lane of write-backs that something can be done in. */
export const laneQueue = 'writebacks'

const project = z.string().min(1)

const tick = z.discriminatedUnion('round', [
  z.strictObject({ round: z.enum(roundNames), project }),
  z.strictObject({ round: z.literal('housekeeping') }),
])
export type Tick = z.infer<typeof tick>

const pass = z.strictObject({
  /** Its name in the configuration. */
  project,
  stream: z.enum(streamNames),
  mode: z.enum(['incremental', 'reconcile']),
})
export type Pass = z.infer<typeof pass>

const hint = z.strictObject({
  project,
  /** The delivery that it is announced for. Whoever works on it takes all that are due of the project. */
  delivery: z.string().min(1),
})
export type Hint = z.infer<typeof hint>

const lane = z.strictObject({
  project,
  /** What its write-backs are about: `conversation/…` or `visitor/…`. */
  lane: z.string().min(1),
})
export type LaneJob = z.infer<typeof lane>

/** Null: of another version, or of nobody. */
export function readTick(data: unknown): Tick | null {
  return tick.safeParse(data).data ?? null
}

export function readPass(data: unknown): Pass | null {
  return pass.safeParse(data).data ?? null
}

export function readHint(data: unknown): Hint | null {
  return hint.safeParse(data).data ?? null
}

export function readLane(data: unknown): LaneJob | null {
  return lane.safeParse(data).data ?? null
}

/** While a job of this id waits or works, another one like it is not taken. BullMQ allows no colon. */
export function idOf({ project, stream, mode }: Pass): string {
  return `${project}/${stream}/${mode}`
}

export function idOfHint({ project, delivery }: Hint): string {
  return `${project}/${delivery}`
}

export function idOfLane({ project, lane }: LaneJob): string {
  return `${project}/${lane}`
}

/** A share from 0 to below 1 that is the same each time: when within a period a project has its turn. */
export function phaseOf(...names: readonly string[]): number {
  return createHash('sha256').update(names.join('/')).digest().readUInt32BE() / 2 ** 32
}
