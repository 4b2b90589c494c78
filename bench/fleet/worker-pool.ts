/** Workers and their queues: the longest waiting job is next, and workers take jobs in rotation. */
import type { PlannedSyncJob } from '../../jobs/queues.ts'
import type { EpochMs, Ms } from '../../src/values/time.ts'

/** Audits are not simulated. */
export type SimulatedQueue = 'schedules' | Exclude<PlannedSyncJob['queue'], 'audits'>
/** `freeAt`: when its thread has finished all its work. */
export type SimulatedWorker = {
  readonly freeSlots: Record<SimulatedQueue, number>
  freeAt: EpochMs
  cpuMs: Ms
}

export type WorkerPool<J> = {
  readonly workers: readonly SimulatedWorker[]
  readonly add: (queue: SimulatedQueue, job: J) => void
  /** Takes a job and a slot; null: no job waits, or no slot is free. */
  readonly next: (
    queue: SimulatedQueue,
  ) => { readonly job: J; readonly worker: SimulatedWorker } | null
  readonly release: (queue: SimulatedQueue, worker: SimulatedWorker) => void
  /** Over all queues. */
  readonly waiting: () => number
}

/** `slots`: how many jobs of each queue a worker runs concurrently. */
export function createWorkerPool<J>(
  count: number,
  slots: Readonly<Record<SimulatedQueue, number>>,
): WorkerPool<J> {
  const workers = Array.from(
    { length: count },
    (): SimulatedWorker => ({ freeSlots: { ...slots }, freeAt: 0, cpuMs: 0 }),
  )
  const queues: Record<SimulatedQueue, JobFifo<J>> = {
    schedules: createFifo(),
    sync: createFifo(),
    backfill: createFifo(),
  }
  let nextWorker = 0
  return {
    workers,
    add: (queue, job) => queues[queue].add(job),
    next: (queue) => {
      if (queues[queue].length() === 0) return null
      for (let n = 0; n < count; n++) {
        const worker = workers[(nextWorker + n) % count]
        if (worker === undefined || worker.freeSlots[queue] === 0) continue
        const job = queues[queue].take()
        if (job === undefined) return null
        nextWorker = (nextWorker + n + 1) % count
        worker.freeSlots[queue] -= 1
        return { job, worker }
      }
      return null
    },
    release: (queue, worker) => {
      worker.freeSlots[queue] += 1
    },
    waiting: () => queues.schedules.length() + queues.sync.length() + queues.backfill.length(),
  }
}

type JobFifo<J> = {
  readonly add: (job: J) => void
  readonly take: () => J | undefined
  readonly length: () => number
}

function createFifo<J>(): JobFifo<J> {
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
