/** A lane of write-backs, as a job: worked on for a while, in its order. What there is to send stands in the warehouse. */
import type { LaneEnd } from '../src/compose/worker/lanes.ts'
import { never } from '../src/core/never.ts'
import type { RunningJob } from './backends/backend.ts'
import { about } from './caught.ts'
import { dropped, type JobDeps } from './deps.ts'
import { laneQueue, readLane } from './queues.ts'
import type { Verdict } from './verdict.ts'

export async function workLaneJob(job: RunningJob<unknown>, deps: JobDeps): Promise<Verdict> {
  const named = readLane(job.data)
  const project = named === null ? undefined : deps.project(named.project)
  if (named === null || project === undefined || project.readOnly) {
    return dropped(laneQueue, job, deps, 'project to write to')
  }
  const end = await deps.workplace.lanes.work(project, { ...named, portionMs: deps.portionMs, signal: deps.stopping })
  const subject = about('writebacks', deps, named.project, named.lane)
  if (end.kind === 'done' || end.kind === 'more') await deps.failures.succeeded(subject)
  if (end.kind === 'failed') {
    // Lanes fail alike while the service is away: the first one is told of.
    const others = deps.failures
      .all()
      .some(({ about }) => about.job === 'writebacks' && about.project?.name === project.name)
    const isNews = await deps.failures.failed(subject, end.why, true)
    deps.log[isNews && !others ? 'warn' : 'debug']({ event: 'lane.failed', ...named, why: end.why })
  }
  const verdict = verdictOf(end, deps.random())
  deps.metrics.worked({ queue: laneQueue, verdict: verdict.do })
  return verdict
}

/** What is due later is found by the watch when it is. */
function verdictOf(end: LaneEnd, chance: number): Verdict {
  switch (end.kind) {
    case 'done':
    case 'paused':
    case 'failed':
      return { do: 'done' }
    case 'more':
    case 'interrupted':
      return { do: 'again', afterMs: 1 }
    case 'busy':
      return { do: 'again', afterMs: 500 + chance * 1000 }
    default:
      return never(end)
  }
}
