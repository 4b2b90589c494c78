/** Which jobs a schedule firing starts, and which are overdue. Pure. */

import { childStreamNames, listStreamNames, type StreamName } from '../schema/stream-specs.ts'
import type { ProjectConfig } from '../src/config/config.ts'
import type { Schedule, ScheduleName } from '../src/config/default-schedules.ts'
import { auditedStreams } from '../src/mirror/core/audit.ts'
import type { EpochMs, Ms } from '../src/values/time.ts'
import type { SyncJob, SyncQueueName } from './queues.ts'

/** A sync job, and the queue that it starts in. */
export type PlannedSyncJob = { readonly queue: SyncQueueName; readonly job: SyncJob }

/** The streams that a firing starts. Children of a list's rows are enqueued when the list has been read. */
const streamsBySchedule: Readonly<Record<ScheduleName, readonly StreamName[]>> = {
  incremental: listStreamNames,
  reconcile: [...listStreamNames, ...childStreamNames, 'analytics'],
  analytics: ['analytics'],
  availability: ['availability'],
  audit: auditedStreams,
}

export function scheduledStreams(
  schedule: ScheduleName,
  { streams }: Pick<ProjectConfig, 'streams'>,
): readonly StreamName[] {
  return streamsBySchedule[schedule].filter((stream) => streams.includes(stream))
}

/** Long work starts in `backfill`. */
export function syncJobsOfSchedule(
  schedule: ScheduleName,
  project: Pick<ProjectConfig, 'name' | 'streams'>,
): PlannedSyncJob[] {
  const mode = schedule === 'reconcile' || schedule === 'audit' ? schedule : 'incremental'
  const queue = mode === 'incremental' ? 'sync' : 'backfill'
  return scheduledStreams(schedule, project).map((stream) => ({ queue, job: { project: project.name, stream, mode } }))
}

/** Incremental sync jobs for some streams of a project. */
export function incrementalSyncJobs(
  queue: SyncQueueName,
  { name }: Pick<ProjectConfig, 'name'>,
  streams: readonly StreamName[],
): PlannedSyncJob[] {
  return streams.map((stream) => ({ queue, job: { project: name, stream, mode: 'incremental' } }))
}

export type CompletionTimes = ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>

/**
 * Streams that have not completed for two of their periods, except rollups that must wait for the lists; and streams with
 * pending children. Those start in `backfill`, because the list that found new children has already enqueued them.
 */
export function overdueSyncJobs(
  projects: readonly Pick<ProjectConfig, 'name' | 'projectId' | 'streams' | 'schedules' | 'startDate'>[],
  completionTimes: CompletionTimes,
  pendingByProject: ReadonlyMap<string, readonly StreamName[]>,
  now: EpochMs,
): PlannedSyncJob[] {
  return projects.flatMap((project) => {
    const completed = completionTimes.get(project.projectId)
    const overdueStreams = (['incremental', 'analytics', 'availability'] as const).flatMap((schedule) => {
      const period = schedulePeriod(project.schedules[schedule])
      const isOverdue = (stream: StreamName) => period !== null && now - (completed?.get(stream) ?? 0) > 2 * period
      return scheduledStreams(schedule, project).filter(
        (stream) => isOverdue(stream) && !isWaitingForLists(stream, project, completed),
      )
    })
    const isEnabled = project.schedules.incremental.kind !== 'off'
    const pendingChildren = isEnabled ? (pendingByProject.get(project.projectId) ?? []) : []
    const pendingMirrored = pendingChildren.filter((stream) => project.streams.includes(stream))
    return [
      ...incrementalSyncJobs('sync', project, overdueStreams),
      ...incrementalSyncJobs('backfill', project, pendingMirrored),
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

const dayMs: Ms = 86_400_000

/** Null: never. A cron pattern counts as once a day: this check need not be sharper than the schedule. */
function schedulePeriod(schedule: Schedule): Ms | null {
  if (schedule.kind === 'off') return null
  return schedule.kind === 'every' ? schedule.ms : dayMs
}
