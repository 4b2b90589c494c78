/** The jobs that schedules fire: they enqueue sync jobs, and once a day run the housekeeping. */
import type { Ms } from '../src/values/time.ts'
import type { JobResult } from './backends/backend.ts'
import type { JobDeps, JobRun, JobType } from './job-type.ts'
import { parseSchedulerJob, type SchedulerJob } from './queues.ts'
import { syncJobsOfSchedule } from './schedule-plan.ts'

export const schedulerJobs: JobType<SchedulerJob> = {
  parse: parseSchedulerJob,
  identityOf: (data) =>
    data === null || data.round === 'housekeeping' ? { job: 'housekeeping' } : { job: 'schedule', key: data.round },
  run: runSchedulerJob,
  afterError: afterFailedFiring,
}

const done: JobResult = { do: 'done' }
const unknownSchedule: JobResult = { do: 'give up', why: 'the job names no known schedule' }

async function runSchedulerJob({ data, project, identity }: JobRun<SchedulerJob>, deps: JobDeps) {
  if (data === null) return unknownSchedule
  if (data.round === 'housekeeping') await runHousekeeping(deps)
  else if (project === undefined) return { missing: 'project' }
  else await deps.enqueueSyncJobs(syncJobsOfSchedule(data.round, project))
  await deps.failures.recordSuccess(identity)
  return done
}

async function runHousekeeping({ workerContext, log }: JobDeps): Promise<void> {
  const { runsDeleted, deliveriesDeleted, expired } = await workerContext.runHousekeeping()
  const counts = { runs_deleted: runsDeleted, deliveries_deleted: deliveriesDeleted, expired }
  log.info({ event: 'housekeeping.completed', ...counts })
}

const retryMs: Ms = 15_000
const retryForMs: Ms = 3_600_000

/** Frequent schedules fire again by themselves; a nightly one would be a day late. */
export function afterFailedFiring(data: SchedulerJob | null, why: string, sinceMs: Ms): JobResult {
  const isFrequent = data?.round === 'incremental' || data?.round === 'availability'
  if (isFrequent || sinceMs > retryForMs) return { do: 'give up', why }
  return { do: 'delay', afterMs: retryMs }
}
