/** Brings the queue's schedules in line with the configuration. */
import type { ProjectConfig } from '../src/config/config.ts'
import type { EpochMs } from '../src/core/time.ts'
import type { Backend } from './backends/backend.ts'
import type { JobQueue } from './backends/ensure-schedule.ts'
import { schedulesForProjects } from './project-schedules.ts'
import type { SchedulerJob } from './queues.ts'

/** A full check of thousands of schedules runs when something may have changed, else once an hour. */
const fullCheckEveryMs = 3_600_000

export function createScheduleSync(backend: Pick<Backend, 'ensureSchedules'>, clock: JobQueue<SchedulerJob>) {
  let lastSync: { readonly wantedKey: string; readonly at: EpochMs } | null = null
  return async (projects: readonly ProjectConfig[], now: EpochMs): Promise<void> => {
    const wanted = schedulesForProjects(projects)
    const wantedKey = JSON.stringify(wanted)
    const isComplete = (await clock.getJobSchedulersCount()) === wanted.length
    if (isComplete && lastSync?.wantedKey === wantedKey && now - lastSync.at < fullCheckEveryMs) return
    await backend.ensureSchedules(clock, wanted)
    await removeStaleSchedules(clock, new Set(wanted.map(({ id }) => id)))
    lastSync = { wantedKey, at: now }
  }
}

/** Removes the schedules of projects that are no longer configured. */
async function removeStaleSchedules(clock: JobQueue<SchedulerJob>, wanted: ReadonlySet<string>): Promise<void> {
  const found = await clock.getJobSchedulers(0, -1)
  for (const { key } of found) if (!wanted.has(key)) await clock.removeJobScheduler(key)
}
