/** Keeps the schedules of the queue as the configuration wants them. */
import type { ProjectConfig } from '../src/config/load.ts'
import type { EpochMs } from '../src/core/time.ts'
import type { Backend } from './backends/backend.ts'
import type { JobQueue } from './backends/schedule.ts'
import type { SchedulerJob } from './queues.ts'
import { schedulesForProjects } from './schedules.ts'

/** A whole look at thousands of schedules is for when something may have changed, or else for once an hour. */
const fullCheckEveryMs = 3_600_000

export type ScheduleSync = (projects: readonly ProjectConfig[], now: EpochMs) => Promise<void>

export function createScheduleSync(backend: Pick<Backend, 'keepSchedules'>, clock: JobQueue<SchedulerJob>): ScheduleSync {
  let lastSync: { readonly wish: string; readonly at: EpochMs } | null = null
  return async (projects, now) => {
    const wanted = schedulesForProjects(projects)
    const wantedKey = JSON.stringify(wanted)
    const isComplete = (await clock.getJobSchedulersCount()) === wanted.length
    if (isComplete && lastSync?.wish === wantedKey && now - lastSync.at < fullCheckEveryMs) return
    await backend.ensureSchedules(clock, wanted)
    await removeStaleSchedules(clock, new Set(wanted.map(({ id }) => id)))
    lastSync = { wish: wantedKey, at: now }
  }
}

/** Those of projects that the configuration does not have any more. */
async function removeStaleSchedules(clock: JobQueue<SchedulerJob>, wanted: ReadonlySet<string>): Promise<void> {
  const found = await clock.getJobSchedulers(0, -1)
  for (const { key } of found) if (!wanted.has(key)) await clock.removeJobScheduler(key)
}
