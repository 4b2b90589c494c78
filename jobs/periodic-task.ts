/** Work that repeats in every worker and needs no job. A run that fails is recorded, and the next one starts all the same. */
import type { JobIdentity, JobKind } from '../src/maintenance/core/job-failure.ts'
import type { Ms } from '../src/values/time.ts'
import type { JobDeps } from './job-handler.ts'

/** The first run starts at once, each further one `everyMs` after the end of the one before. */
export function startPeriodicTask(
  job: JobKind,
  everyMs: Ms,
  work: () => Promise<void>,
  { failures, isQueueConnectionError }: Pick<JobDeps, 'failures' | 'isQueueConnectionError'>,
) {
  const identity: JobIdentity = { job, project: null, key: '', stream: null }
  let lastAt = performance.now()
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const runOnce = async () => {
    clearTimeout(timer)
    try {
      // Closing resources may fail the last run; that is not worth a warning.
      await work().catch((error) => (stopped ? undefined : Promise.reject(error)))
      await failures.recordSuccess(identity)
    } catch (error) {
      await failures.recordFailure(identity, error, isQueueConnectionError(error))
    }
    lastAt = performance.now()
    if (!stopped) timer = setTimeout(next, everyMs)
  }
  let current = Promise.resolve()
  const next = () => {
    current = current.then(runOnce)
  }
  next()
  return {
    /** Milliseconds since the last completed run, or since the start. */
    sinceLastRunMs: (): Ms => performance.now() - lastAt,
    /** Runs once more now. */
    runNow: next,
    /** Waits for the current run. */
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await current
    },
  }
}
