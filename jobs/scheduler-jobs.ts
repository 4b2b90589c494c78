/** The jobs that schedules fire: they enqueue sync jobs, and once a day run the housekeeping. */
import type { Ms } from '../src/core/time.ts'
import type { RunningJob } from './backends/backend.ts'
import type { JobDeps } from './job-deps.ts'
import { schedulerJobSubject } from './job-errors.ts'
import type { JobResult } from './job-result.ts'
import { parseSchedulerJob, type SchedulerJob } from './queues.ts'
import { syncJobsOfSchedule } from './schedule-plan.ts'

export async function runSchedulerJob(job: RunningJob<unknown>, deps: JobDeps): Promise<JobResult> {
  const firing = parseSchedulerJob(job.data)
  if (firing === null) return { do: 'give up', why: 'the job names no known schedule' }
  const subject = schedulerJobSubject(firing, deps)
  const result = await runFiring(firing, deps).then(
    async (): Promise<JobResult> => {
      await deps.failures.recordSuccess(subject)
      return { do: 'done' }
    },
    async (error: unknown) => {
      await deps.failures.recordFailure(subject, error, deps.isQueueConnectionError(error))
      return afterFailedFiring(
        firing,
        error instanceof Error ? error.message : String(error),
        Date.now() - job.timestamp,
      )
    },
  )
  deps.metrics.countJob({ queue: 'clock', verdict: result.do })
  return result
}

const retryMs: Ms = 15_000
const retryForMs: Ms = 3_600_000

/** Frequent schedules fire again by themselves; a nightly one would be a day late. */
export function afterFailedFiring({ round }: SchedulerJob, why: string, sinceMs: Ms): JobResult {
  const isFrequent = round === 'incremental' || round === 'availability'
  if (isFrequent || sinceMs > retryForMs) return { do: 'give up', why }
  return { do: 'again', afterMs: retryMs }
}

async function runFiring(
  firing: SchedulerJob,
  { workerContext, findProject, enqueueSyncJobs, log }: JobDeps,
): Promise<void> {
  if (firing.round === 'housekeeping') {
    const { runsDeleted, deliveriesDeleted } = await workerContext.runHousekeeping()
    log.info({ event: 'housekeeping.completed', runs_deleted: runsDeleted, deliveries_deleted: deliveriesDeleted })
    return
  }
  const project = findProject(firing.project)
  if (project !== undefined) await enqueueSyncJobs(syncJobsOfSchedule(firing.round, project))
}
