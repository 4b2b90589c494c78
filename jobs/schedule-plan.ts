/** Which schedules there are, what a firing starts, what is overdue or was missed. Pure. */
import { createHash } from 'node:crypto'
import { listStreamNames, type StreamName } from '../schema/stream-specs.ts'
import { toColumnRules } from '../src/config/column-settings.ts'
import type { Config, ProjectConfig } from '../src/config/config.ts'
import { type ConfiguredLake, lakesOf } from '../src/config/lakes.ts'
import { longestInterval, readStreams } from '../src/config/planned-interval.ts'
import {
  nightWindows,
  type Schedule,
  type ScheduleName,
  scheduleNames,
} from '../src/config/schedules.ts'
import type { ProjectRuns } from '../src/maintenance/maintenance.ts'
import { recordRetentionMs } from '../src/maintenance/sql/retention.ts'
import { auditedStreams } from '../src/mirror/core/audit.ts'
import type { EpochMs } from '../src/values/time.ts'
import type { JobSchedule, Recurrence } from './backends/backend.ts'
import { lastFiring } from './backends/in-process.ts'
import type { PlannedSyncJob, SchedulerJob, SyncJob } from './queues.ts'

/** Spread over their periods, so that ten thousand projects do not start in the same second. */
export function schedulesForProjects(
  projects: readonly ProjectConfig[],
): JobSchedule<SchedulerJob>[] {
  const ofProjects = projects.flatMap((project) =>
    schedulesForProject(project).map(({ name, recurrence }): JobSchedule<SchedulerJob> => {
      const data = { schedule: name, project: project.name }
      return { id: `${name}/${project.name}`, recurrence, job: name, data }
    }),
  )
  return [...ofProjects, housekeeping]
}

/** Equal for workers that have the same projects, schedules, lakes and rules of columns. */
export function configurationDigest(config: Pick<Config, 'projects' | 'lake'>): string {
  const { projects } = config
  const lakes = lakesOf(config).map(({ project, ...lake }) => [project?.name, lake])
  const known = projects.map((project) => {
    const { name, projectId, streams, readOnly, columns } = project
    const rules = toColumnRules(project)
    const stored = columns.length === 0 ? [] : streams.map((stream) => rules.describe(stream))
    return [name, projectId, streams, readOnly, stored]
  })
  const text = JSON.stringify([known, schedulesForProjects(projects), lakes])
  return createHash('sha256').update(text).digest('hex')
}

export const housekeeping: JobSchedule<SchedulerJob> = {
  id: 'housekeeping',
  recurrence: { pattern: '23 4 * * *', tz: 'UTC' },
  job: 'housekeeping',
  data: { schedule: 'housekeeping' },
}

function schedulesForProject(project: ProjectConfig) {
  return scheduleNames.flatMap((name) => {
    if (scheduledStreams(name, project).length === 0) return []
    const recurrence = toRecurrence(project, name, project.schedules[name])
    return recurrence === null ? [] : [{ name, recurrence }]
  })
}

/** The warehouse has whole seconds. */
const precisionMs = 1000

/** The jobs of schedules that fired while no worker ran, or whose worker did not end them. */
export function missedSyncJobs(
  projects: readonly ProjectConfig[],
  completions: CompletionTimes,
  runs: ReadonlyMap<string, ProjectRuns>,
  now: EpochMs,
): PlannedSyncJob[] {
  return projects.flatMap((project) => {
    const { firstAt, ran } = runs.get(project.projectId) ?? {
      firstAt: now,
      ran: new Map<string, EpochMs>(),
    }
    const lastRun = ({ job: { stream, mode } }: PlannedSyncJob) =>
      (mode === 'incremental'
        ? completions.get(project.projectId)?.get(stream)
        : ran.get(`${stream}/${mode}`)) ?? 0
    return schedulesForProject(project).flatMap(({ name, recurrence }) => {
      const firedAt = lastFiring(recurrence, now)
      // Whether an older one was missed is not known.
      if (firedAt < firstAt || firedAt < now - recordRetentionMs.idleRuns) return []
      return syncJobsOfSchedule(name, project).filter(
        (planned) => lastRun(planned) + precisionMs < firedAt,
      )
    })
  })
}

function toRecurrence(
  { projectId, timeZone }: ProjectConfig,
  name: ScheduleName | 'lake',
  schedule: Schedule,
): Recurrence | null {
  // A stable share from 0 to below 1: the position of a project's schedule within its period.
  const phase =
    createHash('sha256').update(`${projectId}/${name}`).digest().readUInt32BE() / 2 ** 32
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

/**
 * When the lake was to be written last; null: by hand only. That of the warehouse has the time zone of
 * the first project.
 */
export function lakeFiredAt(
  { project: own, schedule }: Pick<ConfiguredLake, 'project' | 'schedule'>,
  projects: readonly ProjectConfig[],
  now: EpochMs,
): EpochMs | null {
  const project = own ?? projects[0]
  const recurrence = project === undefined ? null : toRecurrence(project, 'lake', schedule)
  return recurrence === null ? null : lastFiring(recurrence, now)
}

/** Children are enqueued when the list of their parents has been read. */
const streamsBySchedule: typeof readStreams = {
  ...readStreams,
  incremental: listStreamNames,
  audit: auditedStreams,
}

type Mirrored = Pick<ProjectConfig, 'name' | 'streams'>

function scheduledStreams(schedule: ScheduleName, { streams }: Mirrored): readonly StreamName[] {
  return streamsBySchedule[schedule].filter((stream) => streams.includes(stream))
}

/** Long work starts elsewhere than in `sync`. */
const queueOfMode = { incremental: 'sync', reconcile: 'backfill', audit: 'audits' } as const

export function syncJobsOfSchedule(schedule: ScheduleName, project: Mirrored): PlannedSyncJob[] {
  const mode = schedule === 'reconcile' || schedule === 'audit' ? schedule : 'incremental'
  return toSyncJobs(queueOfMode[mode], project, scheduledStreams(schedule, project), mode)
}

/** For webhooks. A list that is being read may have been asked before they arrived. */
export function wokenSyncJobs(project: Mirrored): PlannedSyncJob[] {
  return syncJobsOfSchedule('incremental', project).map((planned) => ({
    ...planned,
    followsActive: true,
  }))
}

export function toSyncJobs(
  queue: PlannedSyncJob['queue'],
  { name: project }: Pick<ProjectConfig, 'name'>,
  streams: readonly StreamName[],
  mode: SyncJob['mode'] = 'incremental',
): PlannedSyncJob[] {
  return streams.map((stream) => ({ queue, job: { project, stream, mode } }))
}

export type CompletionTimes = ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>

/**
 * Streams that have not completed for two intervals, except rollups that wait for the lists; and, in
 * `backfill`, streams with children that were left pending: the list that finds new ones enqueues
 * those itself.
 */
export function overdueSyncJobs(
  projects: readonly Pick<
    ProjectConfig,
    'name' | 'projectId' | 'streams' | 'schedules' | 'startDate'
  >[],
  completionTimes: CompletionTimes,
  pendingByProject: ReadonlyMap<string, ReadonlyMap<StreamName, number>>,
  now: EpochMs,
): PlannedSyncJob[] {
  return projects.flatMap((project) => {
    const completed = completionTimes.get(project.projectId)
    const overdueStreams = (['incremental', 'analytics', 'availability'] as const).flatMap(
      (schedule) => {
        const interval = longestInterval(project.schedules[schedule])
        const isOverdue = (stream: StreamName) =>
          interval !== null && now - (completed?.get(stream) ?? 0) > 2 * interval
        return scheduledStreams(schedule, project).filter(
          (stream) => isOverdue(stream) && !isWaitingForLists(stream, project, completed),
        )
      },
    )
    const isEnabled = project.schedules.incremental.kind !== 'off'
    const pending = isEnabled ? pendingByProject.get(project.projectId) : undefined
    const pendingMirrored = [...(pending?.keys() ?? [])].filter((stream) =>
      project.streams.includes(stream),
    )
    return [
      ...toSyncJobs('sync', project, overdueStreams),
      ...toSyncJobs('backfill', project, pendingMirrored),
    ]
  })
}

/** The rollups start when their first day is known, which is when the lists have been read once. */
function isWaitingForLists(
  stream: StreamName,
  { streams, startDate }: Pick<ProjectConfig, 'streams' | 'startDate'>,
  completed: ReadonlyMap<StreamName, EpochMs> | undefined,
): boolean {
  if (stream !== 'analytics' || startDate !== null || completed?.has(stream) === true) return false
  return listStreamNames.some((list) => streams.includes(list) && completed?.has(list) !== true)
}
