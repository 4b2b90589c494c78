/** Workers and the lines in front of them: who waits longest is next, and the workers take their turns. */
import type { QueueName } from '../../jobs/queues.ts'
import type { EpochMs, Ms } from '../../src/core/time.ts'

/** `freeAt`: when its thread has done all that it was given. */
export type Worker = { readonly places: Record<QueueName, number>; freeAt: EpochMs; cpuMs: Ms }

export type Crew<J> = {
  readonly workers: readonly Worker[]
  readonly add: (queue: QueueName, job: J) => void
  /** Takes a job and a place; null: no job waits, or no place is free. */
  readonly next: (queue: QueueName) => { readonly job: J; readonly worker: Worker } | null
  readonly leave: (queue: QueueName, worker: Worker) => void
  /** In all lines. */
  readonly waiting: () => number
}

/** `places`: jobs of each queue that a worker runs side by side. */
export function createCrew<J>(count: number, places: Readonly<Record<QueueName, number>>): Crew<J> {
  const workers = Array.from({ length: count }, (): Worker => ({ places: { ...places }, freeAt: 0, cpuMs: 0 }))
  const lines: Record<QueueName, Line<J>> = { clock: line(), passes: line(), backfill: line() }
  let turn = 0
  return {
    workers,
    add: (queue, job) => lines[queue].add(job),
    next: (queue) => {
      if (lines[queue].length() === 0) return null
      for (let n = 0; n < count; n++) {
        const worker = workers[(turn + n) % count]
        if (worker === undefined || worker.places[queue] === 0) continue
        const job = lines[queue].take()
        if (job === undefined) return null
        turn = (turn + n + 1) % count
        worker.places[queue] -= 1
        return { job, worker }
      }
      return null
    },
    leave: (queue, worker) => {
      worker.places[queue] += 1
    },
    waiting: () => lines.clock.length() + lines.passes.length() + lines.backfill.length(),
  }
}

type Line<J> = { readonly add: (job: J) => void; readonly take: () => J | undefined; readonly length: () => number }

function line<J>(): Line<J> {
  let jobs: J[] = []
  let first = 0
  return {
    add: (job) => void jobs.push(job),
    length: () => jobs.length - first,
    take: () => {
      const job = jobs[first++]
      if (first > 1000 && 2 * first > jobs.length) {
        jobs = jobs.slice(first)
        first = 0
      }
      return job
    },
  }
}
