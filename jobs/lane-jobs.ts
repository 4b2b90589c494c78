/** The job of a lane of write-backs: sends them in order for a time slice. What to send is in the warehouse. */
import type { LaneSliceResult } from '../src/app/worker/outbox-lanes.ts'
import { assertNever } from '../src/core/assert-never.ts'
import type { RunningJob } from './backends/backend.ts'
import { dropJob, type JobDeps } from './job-deps.ts'
import { jobSubject } from './job-errors.ts'
import type { JobResult } from './job-result.ts'
import { parseLaneJob, writebackQueue } from './queues.ts'

export async function runLaneJob(job: RunningJob<unknown>, deps: JobDeps): Promise<JobResult> {
  const laneJob = parseLaneJob(job.data)
  const project = laneJob === null ? undefined : deps.findProject(laneJob.project)
  if (laneJob === null || project === undefined || project.readOnly) {
    return dropJob(writebackQueue, job, deps, 'project to write to')
  }
  const end = await deps.workerContext.lanes.runSlice(project, {
    ...laneJob,
    sliceMs: deps.sliceMs,
    signal: deps.stopping,
  })
  const subject = jobSubject('writebacks', deps, laneJob.project, laneJob.lane)
  if (end.kind === 'done' || end.kind === 'more') await deps.failures.recordSuccess(subject)
  if (end.kind === 'failed') {
    // While the service is down all lanes fail alike: only the first is logged as a warning.
    const otherFailures = deps.failures
      .list()
      .some(({ subject: { job, project: failing } }) => job === 'writebacks' && failing?.name === project.name)
    const isNewFailure = await deps.failures.recordFailure(subject, end.why, true)
    deps.log[isNewFailure && !otherFailures ? 'warn' : 'debug']({ event: 'lane.failed', ...laneJob, why: end.why })
  }
  const result = jobResultOf(end, deps.random())
  deps.metrics.countJob({ queue: writebackQueue, verdict: result.do })
  return result
}

/** The outbox poller finds what becomes due later. */
function jobResultOf(end: LaneSliceResult, random: number): JobResult {
  switch (end.kind) {
    case 'done':
    case 'paused':
    case 'failed':
      return { do: 'done' }
    case 'more':
    case 'interrupted':
      return { do: 'again', afterMs: 1 }
    case 'busy':
      return { do: 'again', afterMs: 500 + random * 1000 }
    default:
      return assertNever(end)
  }
}
