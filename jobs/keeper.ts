/** Keeps the schedules of the queue as the configuration wants them. */
import type { ProjectConfig } from '../src/config.ts'
import type { EpochMs } from '../src/core/time.ts'
import type { Backend } from './backends/backend.ts'
import type { JobQueue } from './backends/schedule.ts'
import type { Tick } from './queues.ts'
import { schedulesOf } from './schedules.ts'

/** A whole look at thousands of schedules is for when something may have changed, or else for once an hour. */
const wholeLookMs = 3_600_000

export type Keeper = (projects: readonly ProjectConfig[], now: EpochMs) => Promise<void>

export function keeperOf(backend: Pick<Backend, 'keepSchedules'>, clock: JobQueue<Tick>): Keeper {
  let kept: { readonly wish: string; readonly at: EpochMs } | null = null
  return async (projects, now) => {
    const wanted = schedulesOf(projects)
    const wish = JSON.stringify(wanted)
    const isWhole = (await clock.getJobSchedulersCount()) === wanted.length
    if (isWhole && kept?.wish === wish && now - kept.at < wholeLookMs) return
    await backend.keepSchedules(clock, wanted)
    await dropOthers(clock, new Set(wanted.map(({ id }) => id)))
    kept = { wish, at: now }
  }
}

/** Those of projects that the configuration does not have any more. */
async function dropOthers(clock: JobQueue<Tick>, wanted: ReadonlySet<string>): Promise<void> {
  const found = await clock.getJobSchedulers(0, -1)
  for (const { key } of found) if (!wanted.has(key)) await clock.removeJobScheduler(key)
}
