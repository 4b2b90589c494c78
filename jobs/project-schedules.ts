/** Turns the projects' configured schedules into job schedules. Pure. */
import { createHash } from 'node:crypto'
import type { ProjectConfig } from '../src/config/config.ts'
import { type ScheduleName, scheduleNames } from '../src/core/default-schedules.ts'
import type { JobSchedule, Recurrence } from './backends/ensure-schedule.ts'
import { type SchedulerJob, schedulePhase } from './queues.ts'
import { scheduledStreams } from './schedule-plan.ts'

/** Spread over their periods, so that ten thousand projects do not start in the same second. */
export function schedulesForProjects(projects: readonly ProjectConfig[]): JobSchedule<SchedulerJob>[] {
  return [...projects.flatMap(schedulesForProject), housekeeping]
}

/** Equal for workers that have the same projects and schedules. */
export function configurationDigest(projects: readonly ProjectConfig[]): string {
  const known = projects.map(({ name, projectId, streams, readOnly }) => [name, projectId, streams, readOnly])
  const text = JSON.stringify([known, schedulesForProjects(projects)])
  return createHash('sha256').update(text).digest('hex')
}

const housekeeping: JobSchedule<SchedulerJob> = {
  id: 'housekeeping',
  recurrence: { pattern: '23 4 * * *', tz: 'UTC' },
  job: 'housekeeping',
  data: { round: 'housekeeping' },
}

function schedulesForProject(project: ProjectConfig): JobSchedule<SchedulerJob>[] {
  return scheduleNames.flatMap((name) => {
    if (scheduledStreams(name, project).length === 0) return []
    const recurrence = toRecurrence(project, name)
    const data = { round: name, project: project.name }
    return recurrence === null ? [] : [{ id: `${name}/${project.name}`, recurrence, job: name, data }]
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
