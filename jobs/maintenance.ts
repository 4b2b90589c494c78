/**
 * Looks after what a queue may lose. It needs no job to run: schedules that are missing come back, and work that no job
 * announces is found in the warehouse.
 */
import type { Ms } from '../src/core/time.ts'
import { runBackgroundTask } from './job-errors.ts'
import type { JobDeps } from './job-deps.ts'

export type MaintenanceDeps = {
  readonly everyMs: Ms
  /** A sign of life. */
  readonly recordHeartbeat: () => Promise<void>
  /** Whether the rest is this process's to do. */
  readonly tryLead: () => Promise<boolean>
  /** Puts back the schedules that are missing or stuck. */
  readonly syncSchedules: () => Promise<void>
  /** Announces what is overdue. */
  readonly enqueueOverdue: () => Promise<void>
} & Pick<JobDeps, 'failures' | 'isQueueAway'>

export type Maintenance = {
  /** Since the last round that came to its end, or since the start. */
  readonly sinceLastRunMs: () => Ms
  /** One more round now. */
  readonly runNow: () => void
  /** Waits for the round under way. */
  readonly stop: () => Promise<void>
}

/** The first round is at once. A round that fails is told of, and the next one comes all the same. */
export function startMaintenance(deps: MaintenanceDeps): Maintenance {
  let lastAt = performance.now()
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const runOnce = async () => {
    clearTimeout(timer)
    const work = async () => {
      await deps.recordHeartbeat()
      if (await deps.tryLead()) {
        await deps.syncSchedules()
        await deps.enqueueOverdue()
      }
    }
    // What is closing may fail it, and nobody needs to know.
    await runBackgroundTask('maintenance', () => work().catch((error) => (stopped ? undefined : Promise.reject(error))), deps)
    lastAt = performance.now()
    if (!stopped) timer = setTimeout(next, deps.everyMs)
  }
  let current = Promise.resolve()
  const next = () => {
    current = current.then(runOnce)
  }
  next()
  return {
    sinceLastRunMs: () => performance.now() - lastAt,
    runNow: next,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await current
    },
  }
}
