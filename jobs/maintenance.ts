/**
 * Periodic maintenance, which needs no job to run: restores missing schedules, and enqueues overdue work that it finds
 * in the warehouse.
 */
import type { Ms } from '../src/core/time.ts'
import type { JobDeps } from './job-deps.ts'
import { runBackgroundTask } from './job-errors.ts'

export type MaintenanceDeps = {
  readonly everyMs: Ms
  /** Records that this process is alive. */
  readonly recordHeartbeat: () => Promise<void>
  /** Whether this process is the one that syncs schedules and enqueues overdue work. */
  readonly tryLead: () => Promise<boolean>
  /** Restores the schedules that are missing or stuck. */
  readonly syncSchedules: () => Promise<void>
  /** Enqueues what is overdue. */
  readonly enqueueOverdue: () => Promise<void>
} & Pick<JobDeps, 'failures' | 'isQueueConnectionError'>

export type Maintenance = {
  /** Milliseconds since the last completed run, or since the start. */
  readonly sinceLastRunMs: () => Ms
  /** Runs once more now. */
  readonly runNow: () => void
  /** Waits for the current run. */
  readonly stop: () => Promise<void>
}

/** The first run starts at once. A run that fails is recorded, and the next one starts all the same. */
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
    // Closing resources may fail the last run; that is not worth a warning.
    await runBackgroundTask(
      'maintenance',
      () => work().catch((error) => (stopped ? undefined : Promise.reject(error))),
      deps,
    )
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
