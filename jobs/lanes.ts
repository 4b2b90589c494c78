/** A lane of write-backs, as a job: worked on for a while, in its order. What there is to send stands in the warehouse. */
import type { LaneEnd } from '../src/compose/worker/lanes.ts'
import type { Workplace } from '../src/compose/worker/workplace.ts'
import type { ProjectConfig } from '../src/config.ts'
import { never } from '../src/core/never.ts'
import type { Ms } from '../src/core/time.ts'
import type { Metrics } from '../src/http/metrics.ts'
import type { Logger } from '../src/log.ts'
import type { RunningJob } from './backends/backend.ts'
import { laneQueue, readLane } from './queues.ts'
import type { Verdict } from './verdict.ts'

export type LaneDeps = {
  readonly workplace: Pick<Workplace, 'lanes'>
  readonly project: (name: string) => ProjectConfig | undefined
  readonly metrics: Pick<Metrics, 'worked'>
  readonly log: Logger
  readonly portionMs: Ms
  readonly stopping: AbortSignal
  /** 0 to below 1. */
  readonly random: () => number
}

export async function workLaneJob(job: RunningJob<unknown>, deps: LaneDeps): Promise<Verdict> {
  const named = readLane(job.data)
  const project = named === null ? undefined : deps.project(named.project)
  if (named === null || project === undefined || project.readOnly) {
    deps.log.info({
      event: 'job.dropped',
      queue: laneQueue,
      id: job.id,
      why: 'the configuration has no such project to write to',
    })
    return { do: 'done' }
  }
  const end = await deps.workplace.lanes.work(project, { ...named, portionMs: deps.portionMs, signal: deps.stopping })
  if (end.kind === 'failed') deps.log.warn({ event: 'lane.failed', ...named, why: end.why })
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
