/** What the schedules fire, as jobs: a round announces its passes, and once a day the house is kept. */
import type { Ms } from '../src/core/time.ts'
import type { RunningJob } from './backends/backend.ts'
import { schedulerJobSubject } from './job-errors.ts'
import type { JobDeps } from './job-deps.ts'
import { parseSchedulerJob, type SchedulerJob } from './queues.ts'
import { syncJobsOfSchedule } from './schedule-plan.ts'
import type { JobResult } from './job-result.ts'

export async function runSchedulerJob(job: RunningJob<unknown>, deps: JobDeps): Promise<JobResult> {
  const firing = parseSchedulerJob(job.data)
  if (firing === null) return { do: 'give up', why: 'the job does not say which round it is' }
  const subject = schedulerJobSubject(firing, deps)
  const result = await runFiring(firing, deps).then(
    async (): Promise<JobResult> => {
      await deps.failures.recordSuccess(subject)
      return { do: 'done' }
    },
    async (error: unknown) => {
      await deps.failures.recordFailure(subject, error, deps.isQueueConnectionError(error))
      return afterFailedFiring(firing, error instanceof Error ? error.message : String(error), Date.now() - job.timestamp)
    },
  )
  deps.metrics.countJob({ queue: 'clock', verdict: result.do })
  return result
}

const retryMs: Ms = 15_000
const retryForMs: Ms = 3_600_000

/** Rounds of the day come again by themselves; those of the night would be a day late. */
export function afterFailedFiring({ round }: SchedulerJob, why: string, sinceMs: Ms): JobResult {
  const isFrequent = round === 'incremental' || round === 'availability'
  if (isFrequent || sinceMs > retryForMs) return { do: 'give up', why }
  return { do: 'again', afterMs: retryMs }
}

async function runFiring(firing: SchedulerJob, { workerContext, findProject, enqueueSyncJobs, log }: JobDeps): Promise<void> {
  if (firing.round === 'housekeeping') {
    const { runsForgotten, deliveriesForgotten } = await workerContext.runHousekeeping()
    log.info({ event: 'house.kept', runs_forgotten: runsForgotten, deliveries_forgotten: deliveriesForgotten })
    return
  }
  const project = findProject(firing.project)
  if (project !== undefined) await enqueueSyncJobs(syncJobsOfSchedule(firing.round, project))
}
