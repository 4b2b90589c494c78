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
  /**
   * `isLeader`: others only add what is missing. `differ`: other workers have other projects or schedules, so what is
   * unknown here may be theirs and stays.
   */
  return async (
    projects: readonly ProjectConfig[],
    now: EpochMs,
    isLeader: boolean,
    differ: boolean,
  ): Promise<void> => {
    const wanted = schedulesForProjects(projects)
    const wantedKey = JSON.stringify([isLeader, wanted])
    const count = await clock.getJobSchedulersCount()
    const isComplete = differ ? count >= wanted.length : count === wanted.length
    if (isComplete && lastSync?.wantedKey === wantedKey && now - lastSync.at < fullCheckEveryMs) return
    const found = new Set((await clock.getJobSchedulers(0, -1)).map(({ key }) => key))
    await backend.ensureSchedules(clock, isLeader ? wanted : wanted.filter(({ id }) => !found.has(id)))
    const known = new Set(wanted.map(({ id }) => id))
    if (!differ) for (const id of found) if (!known.has(id)) await clock.removeJobScheduler(id)
    lastSync = { wantedKey, at: now }
  }
}
