/** What the schedules fire, as jobs: a round announces its passes, and once a day the house is kept. */
import type { Ms } from '../src/core/time.ts'
import type { RunningJob } from './backends/backend.ts'
import { tickSubject } from './caught.ts'
import type { JobDeps } from './deps.ts'
import { readTick, type Tick } from './queues.ts'
import { announcedBy } from './rounds.ts'
import type { Verdict } from './verdict.ts'

export async function workTick(job: RunningJob<unknown>, deps: JobDeps): Promise<Verdict> {
  const tick = readTick(job.data)
  if (tick === null) return { do: 'give up', why: 'the job does not say which round it is' }
  const about = tickSubject(tick, deps)
  const verdict = await carryOut(tick, deps).then(
    async (): Promise<Verdict> => {
      await deps.failures.succeeded(about)
      return { do: 'done' }
    },
    async (error: unknown) => {
      await deps.failures.failed(about, error, deps.isQueueAway(error))
      return afterFailure(tick, error instanceof Error ? error.message : String(error), Date.now() - job.timestamp)
    },
  )
  deps.metrics.worked({ queue: 'clock', verdict: verdict.do })
  return verdict
}

const retryMs: Ms = 15_000
const retryForMs: Ms = 3_600_000

/** Rounds of the day come again by themselves; those of the night would be a day late. */
export function afterFailure({ round }: Tick, why: string, sinceMs: Ms): Verdict {
  const isFrequent = round === 'incremental' || round === 'availability'
  if (isFrequent || sinceMs > retryForMs) return { do: 'give up', why }
  return { do: 'again', afterMs: retryMs }
}

async function carryOut(tick: Tick, { workplace, project: find, announce, log }: JobDeps): Promise<void> {
  if (tick.round === 'housekeeping') {
    const { runsForgotten, deliveriesForgotten } = await workplace.keepHouse()
    log.info({ event: 'house.kept', runs_forgotten: runsForgotten, deliveries_forgotten: deliveriesForgotten })
    return
  }
  const project = find(tick.project)
  if (project !== undefined) await announce(announcedBy(tick.round, project))
}
