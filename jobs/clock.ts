/** What the schedules fire, as jobs: a round announces its passes, and once a day the house is kept. */
import type { Ms } from '../src/core/time.ts'
import type { RunningJob } from './backends/backend.ts'
import type { JobDeps } from './deps.ts'
import { readTick, type Tick } from './queues.ts'
import { announcedBy } from './rounds.ts'
import type { Verdict } from './verdict.ts'

export async function workTick(job: RunningJob<unknown>, deps: JobDeps): Promise<Verdict> {
  const tick = readTick(job.data)
  if (tick === null) return { do: 'give up', why: 'the job does not say which round it is' }
  try {
    await carryOut(tick, deps)
    return { do: 'done' }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    deps.log.warn({ event: 'round.failed', ...tick, why })
    return afterFailure(tick, why, Date.now() - job.timestamp)
  }
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
