/** The job of a lane of write-backs: sends them in order for a time slice. What to send is in the warehouse. */

import { assertNever } from '../src/values/assert-never.ts'
import type { LaneSliceResult } from '../src/worker/outbox-lanes.ts'
import type { JobResult } from './backends/backend.ts'
import { type JobDeps, type JobRun, type JobType, recordJobEnd } from './job-type.ts'
import { type LaneJob, parseLaneJob } from './queues.ts'

export const laneJobs: JobType<LaneJob> = {
  parse: parseLaneJob,
  identityOf: (data) => ({ job: 'writebacks', key: data?.lane ?? '' }),
  run: runLaneJob,
}

async function runLaneJob({ data, project, identity }: JobRun<LaneJob>, deps: JobDeps) {
  if (data === null || project === undefined || project.readOnly) return { missing: 'project to write to' }
  const { workerContext, failures, sliceMs, stopping, random, log } = deps
  const end = await workerContext.lanes.runSlice(project, { lane: data.lane, sliceMs, signal: stopping })
  // While the service is down all lanes fail alike: only the first is logged as a warning.
  const otherFailures = failures
    .list()
    .some(({ identity: { job, project: failing } }) => job === 'writebacks' && failing?.name === project.name)
  const isNewFailure = await recordJobEnd(deps, identity, end)
  if (end.kind === 'failed')
    log[isNewFailure && !otherFailures ? 'warn' : 'debug']({ event: 'lane.failed', ...data, why: end.why })
  return jobResultOf(end, random())
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
      return { do: 'delay', afterMs: 1 }
    case 'busy':
      return { do: 'delay', afterMs: 500 + random * 1000 }
    default:
      return assertNever(end)
  }
}
