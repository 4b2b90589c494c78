/** Puts wake-up calls into the queues. One that waits or works already is not added again. */
import type { Backend } from './backends/backend.ts'
import type { JobQueue } from './backends/schedule.ts'
import {
  type Hint,
  hintQueue,
  idOf,
  idOfHint,
  idOfLane,
  type LaneJob,
  laneQueue,
  type Pass,
  type PassQueue,
  passQueues,
  type Tick,
} from './queues.ts'
import type { Announced } from './rounds.ts'

export type Queues = {
  readonly clock: JobQueue<Tick>
  readonly hints: JobQueue<Hint>
  readonly writebacks: JobQueue<LaneJob>
} & Readonly<Record<PassQueue, JobQueue<Pass>>>

export function openQueues({ queue }: Backend): Queues {
  return {
    clock: queue<Tick>('clock'),
    passes: queue<Pass>('passes'),
    backfill: queue<Pass>('backfill'),
    hints: queue<Hint>(hintQueue),
    writebacks: queue<LaneJob>(laneQueue),
  }
}

export type Announcer = {
  readonly announce: (all: readonly Announced[]) => Promise<void>
  readonly announceHints: (all: readonly Hint[]) => Promise<void>
  readonly announceLanes: (all: readonly LaneJob[]) => Promise<void>
}

export function announcerOf(queues: Queues): Announcer {
  const { hints, writebacks } = queues
  return {
    announce: async (all) => {
      for (const name of passQueues) {
        const jobs = all.filter(({ queue }) => queue === name).map(({ pass }) => toPassJob(pass))
        if (jobs.length > 0) await queues[name].addBulk(jobs)
      }
    },
    announceHints: async (all) => {
      if (all.length > 0) await hints.addBulk(all.map(toHintJob))
    },
    announceLanes: async (all) => {
      if (all.length > 0) await writebacks.addBulk(all.map(toLaneJob))
    },
  }
}

/** After that the next round is soon enough. */
const repeats = { attempts: 3, backoff: { type: 'exponential', delay: 5000 } }

function toPassJob(data: Pass) {
  return { name: data.stream, data, opts: { ...repeats, deduplication: { id: idOf(data) } } }
}

function toHintJob(data: Hint) {
  return { name: 'hint', data, opts: { ...repeats, deduplication: { id: idOfHint(data) } } }
}

function toLaneJob(data: LaneJob) {
  return { name: 'lane', data, opts: { deduplication: { id: idOfLane(data) } } }
}
