/** What a round asks for, and what is overdue. Pure. */
import type { ProjectConfig } from '../src/config/load.ts'
import { parentStreams } from '../src/core/mirror.ts'
import type { StreamName } from '../src/core/row.ts'
import type { ScheduleName, Schedule } from '../src/core/schedule.ts'
import type { EpochMs, Ms } from '../src/core/time.ts'
import type { SyncJob, SyncQueueName } from './queues.ts'

/** A pass, and the queue that it begins in. */
export type PlannedSyncJob = { readonly queue: SyncQueueName; readonly job: SyncJob }

/** Whose rows have children. */
export const listStreams: readonly StreamName[] = ['conversations', 'visitors', 'calls']
const childStreamNames = Object.keys(parentStreams) as readonly StreamName[]

/** The streams that a round begins with. What hangs on the rows of a list is announced when the list has been read. */
const streamsBySchedule: Readonly<Record<ScheduleName, readonly StreamName[]>> = {
  incremental: listStreams,
  reconcile: [...listStreams, ...childStreamNames, 'analytics'],
  analytics: ['analytics'],
  availability: ['availability'],
}

export function scheduledStreams(round: ScheduleName, { streams }: Pick<ProjectConfig, 'streams'>): readonly StreamName[] {
  return streamsBySchedule[round].filter((stream) => streams.includes(stream))
}

/** A reconcile is long, and begins behind the others. */
export function syncJobsOfSchedule(round: ScheduleName, project: Pick<ProjectConfig, 'name' | 'streams'>): PlannedSyncJob[] {
  const mode = round === 'reconcile' ? 'reconcile' : 'incremental'
  const queue = round === 'reconcile' ? 'backfill' : 'passes'
  return scheduledStreams(round, project).map((stream) => ({ queue, pass: { project: project.name, stream, mode } }))
}

/** The same streams of a project, wherever they begin. */
export function incrementalSyncJobs(
  queue: SyncQueueName,
  { name }: Pick<ProjectConfig, 'name'>,
  streams: readonly StreamName[],
): PlannedSyncJob[] {
  return streams.map((stream) => ({ queue, pass: { project: name, stream, mode: 'incremental' } }))
}

export type CompletionTimes = ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>

/**
 * The sweep: streams that have not come to their end for two of their periods, but for rollups that have to wait; and children that are due, behind the
 * others: whatever is new among them has been announced by the list that found it.
 */
export function overdueSyncJobs(
  projects: readonly Pick<ProjectConfig, 'name' | 'projectId' | 'streams' | 'schedules' | 'startDate'>[],
  ends: CompletionTimes,
  pendingByProject: ReadonlyMap<string, readonly StreamName[]>,
  now: EpochMs,
): PlannedSyncJob[] {
  return projects.flatMap((project) => {
    const completed = ends.get(project.projectId)
    const overdueStreams = (['incremental', 'analytics', 'availability'] as const).flatMap((round) => {
      const period = schedulePeriod(project.schedules[round])
      const isLate = (stream: StreamName) => period !== null && now - (completed?.get(stream) ?? 0) > 2 * period
      return scheduledStreams(round, project).filter((stream) => isLate(stream) && !isWaitingForLists(stream, project, completed))
    })
    const isRead = project.schedules.incremental.kind !== 'off'
    const pendingChildren = isRead ? (pendingByProject.get(project.projectId) ?? []) : []
    const pendingMirrored = pendingChildren.filter((stream) => project.streams.includes(stream))
    return [...incrementalSyncJobs('passes', project, overdueStreams), ...incrementalSyncJobs('backfill', project, pendingMirrored)]
  })
}

/** The rollups begin when it is known how far back they go: when the lists have been read once. */
function isWaitingForLists(
  stream: StreamName,
  { streams, startDate }: Pick<ProjectConfig, 'streams' | 'startDate'>,
  completed: ReadonlyMap<StreamName, EpochMs> | undefined,
): boolean {
  if (stream !== 'analytics' || startDate !== null || completed?.has(stream) === true) return false
  return listStreams.some((list) => streams.includes(list) && completed?.has(list) !== true)
}

const dayMs: Ms = 86_400_000

/** Null: never. What cron says is taken for once a day: a sweep need not be sharper than a schedule that works. */
function schedulePeriod(schedule: Schedule): Ms | null {
  if (schedule.kind === 'off') return null
  return schedule.kind === 'every' ? schedule.ms : dayMs
}
