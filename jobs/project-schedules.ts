/** Turns the projects' configured schedules into job schedules. Pure. */
import { createHash } from 'node:crypto'
import type { ProjectConfig } from '../src/config/config.ts'
import { type ScheduleName, scheduleNames } from '../src/config/default-schedules.ts'
import type { ProjectRuns } from '../src/maintenance/sql/stream-states.ts'
import type { EpochMs } from '../src/values/time.ts'
import type { JobSchedule, Recurrence } from './backends/backend.ts'
import { lastFiring } from './backends/in-process.ts'
import { type SchedulerJob, schedulePhase } from './queues.ts'
import { type CompletionTimes, type PlannedSyncJob, scheduledStreams, syncJobsOfSchedule } from './schedule-plan.ts'

/** Spread over their periods, so that ten thousand projects do not start in the same second. */
export function schedulesForProjects(projects: readonly ProjectConfig[]): JobSchedule<SchedulerJob>[] {
  const ofProjects = projects.flatMap((project) =>
    schedulesForProject(project).map(({ name, recurrence }): JobSchedule<SchedulerJob> => {
      const data = { round: name, project: project.name }
      return { id: `${name}/${project.name}`, recurrence, job: name, data }
    }),
  )
  return [...ofProjects, housekeeping]
}

/** Equal for workers that have the same projects and schedules. */
export function configurationDigest(projects: readonly ProjectConfig[]): string {
  const known = projects.map(({ name, projectId, streams, readOnly }) => [name, projectId, streams, readOnly])
  const text = JSON.stringify([known, schedulesForProjects(projects)])
  return createHash('sha256').update(text).digest('hex')
}

export const housekeeping: JobSchedule<SchedulerJob> = {
  id: 'housekeeping',
  recurrence: { pattern: '23 4 * * *', tz: 'UTC' },
  job: 'housekeeping',
  data: { round: 'housekeeping' },
}

function schedulesForProject(project: ProjectConfig) {
  return scheduleNames.flatMap((name) => {
    if (scheduledStreams(name, project).length === 0) return []
    const recurrence = toRecurrence(project, name)
    return recurrence === null ? [] : [{ name, recurrence }]
  })
}

/** How far back runs tell whether a schedule was missed: a run without changes is deleted after a week. */
export const runsTellForMs = 7 * 86_400_000

/** The warehouse has whole seconds. */
const precisionMs = 1000

/**
 * The sync jobs of schedules that fired, or should have fired, while no worker ran, or whose work a worker began and did not
 * end. `runs`: of the last `runsTellForMs`.
 */
export function missedSyncJobs(
  projects: readonly ProjectConfig[],
  completions: CompletionTimes,
  runs: ReadonlyMap<string, ProjectRuns>,
  now: EpochMs,
): PlannedSyncJob[] {
  return projects.flatMap((project) => {
    const { firstAt, ran } = runs.get(project.projectId) ?? { firstAt: now, ran: new Map<string, EpochMs>() }
    const lastRun = ({ job: { stream, mode } }: PlannedSyncJob) =>
      (mode === 'incremental' ? completions.get(project.projectId)?.get(stream) : ran.get(`${stream}/${mode}`)) ?? 0
    return schedulesForProject(project).flatMap(({ name, recurrence }) => {
      const firedAt = lastFiring(recurrence, now)
      if (firedAt < firstAt || firedAt < now - runsTellForMs) return []
      return syncJobsOfSchedule(name, project).filter((planned) => lastRun(planned) + precisionMs < firedAt)
    })
  })
}

/** The hours of the night, in the project's time zone, in which a schedule gets its minute. */
const nightWindows: Readonly<Record<ScheduleName, { readonly from: number; readonly hours: number }>> = {
  reconcile: { from: 1, hours: 4 },
  // After midnight in every time zone close to the project's that the service may use, and after the reconcile has started.
  analytics: { from: 5, hours: 1 },
  // Before the reconcile, so that it sees what a day of incremental syncs has left.
  audit: { from: 0, hours: 1 },
  incremental: { from: 0, hours: 1 },
  availability: { from: 0, hours: 1 },
}

function toRecurrence({ projectId, timeZone, schedules }: ProjectConfig, name: ScheduleName): Recurrence | null {
  const schedule = schedules[name]
  const phase = schedulePhase(projectId, name)
  switch (schedule.kind) {
    case 'off':
      return null
    case 'every':
      return { every: schedule.ms, offset: Math.floor(phase * schedule.ms) }
    case 'cron':
      return { pattern: schedule.pattern, tz: timeZone }
    case 'nightly': {
      const { from, hours } = nightWindows[name]
      const minute = Math.floor(phase * hours * 60)
      return { pattern: `${minute % 60} ${from + Math.floor(minute / 60)} * * *`, tz: timeZone }
    }
  }
}
