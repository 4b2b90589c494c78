/** What a round asks for, and what is overdue. Pure. */
import type { ProjectConfig } from '../src/config.ts'
import { childStreams } from '../src/core/mirror.ts'
import type { StreamName } from '../src/core/row.ts'
import type { RoundName, Schedule } from '../src/core/schedule.ts'
import type { EpochMs, Ms } from '../src/core/time.ts'
import type { Pass, PassQueue } from './queues.ts'

/** A pass, and the queue that it begins in. */
export type Announced = { readonly queue: PassQueue; readonly pass: Pass }

/** Whose rows have children. */
export const lists: readonly StreamName[] = ['conversations', 'visitors', 'calls']
const children = Object.keys(childStreams) as readonly StreamName[]

/** The streams that a round begins with. What hangs on the rows of a list is announced when the list has been read. */
const begins: Readonly<Record<RoundName, readonly StreamName[]>> = {
  incremental: lists,
  reconcile: [...lists, ...children, 'analytics'],
  analytics: ['analytics'],
  availability: ['availability'],
}

export function streamsOf(round: RoundName, { streams }: Pick<ProjectConfig, 'streams'>): readonly StreamName[] {
  return begins[round].filter((stream) => streams.includes(stream))
}

/** A reconcile is long, and begins behind the others. */
export function announcedBy(round: RoundName, project: Pick<ProjectConfig, 'name' | 'streams'>): Announced[] {
  const mode = round === 'reconcile' ? 'reconcile' : 'incremental'
  const queue = round === 'reconcile' ? 'backfill' : 'passes'
  return streamsOf(round, project).map((stream) => ({ queue, pass: { project: project.name, stream, mode } }))
}

/** The same streams of a project, wherever they begin. */
export function announced(
  queue: PassQueue,
  { name }: Pick<ProjectConfig, 'name'>,
  streams: readonly StreamName[],
): Announced[] {
  return streams.map((stream) => ({ queue, pass: { project: name, stream, mode: 'incremental' } }))
}

export type Ends = ReadonlyMap<string, ReadonlyMap<StreamName, EpochMs>>

/**
 * The sweep: streams that have not come to their end for two of their periods, but for rollups that have to wait; and children that are due, behind the
 * others: whatever is new among them has been announced by the list that found it.
 */
export function overdue(
  projects: readonly Pick<ProjectConfig, 'name' | 'projectId' | 'streams' | 'schedules' | 'startDate'>[],
  ends: Ends,
  due: ReadonlyMap<string, readonly StreamName[]>,
  now: EpochMs,
): Announced[] {
  return projects.flatMap((project) => {
    const own = ends.get(project.projectId)
    const late = (['incremental', 'analytics', 'availability'] as const).flatMap((round) => {
      const period = periodOf(project.schedules[round])
      const isLate = (stream: StreamName) => period !== null && now - (own?.get(stream) ?? 0) > 2 * period
      return streamsOf(round, project).filter((stream) => isLate(stream) && !waits(stream, project, own))
    })
    const isRead = project.schedules.incremental.kind !== 'off'
    const waiting = isRead ? (due.get(project.projectId) ?? []) : []
    const mirrored = waiting.filter((stream) => project.streams.includes(stream))
    return [...announced('passes', project, late), ...announced('backfill', project, mirrored)]
  })
}

/** The rollups begin when it is known how far back they go: when the lists have been read once. */
function waits(
  stream: StreamName,
  { streams, startDate }: Pick<ProjectConfig, 'streams' | 'startDate'>,
  own: ReadonlyMap<StreamName, EpochMs> | undefined,
): boolean {
  if (stream !== 'analytics' || startDate !== null || own?.has(stream) === true) return false
  return lists.some((list) => streams.includes(list) && own?.has(list) !== true)
}

const dayMs: Ms = 86_400_000

/** Null: never. What cron says is taken for once a day: a sweep need not be sharper than a schedule that works. */
function periodOf(schedule: Schedule): Ms | null {
  if (schedule.kind === 'off') return null
  return schedule.kind === 'every' ? schedule.ms : dayMs
}
