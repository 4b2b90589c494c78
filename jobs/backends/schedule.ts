/** Schedules that are as they should be, however often and by however many processes they are set. */
import { isDeepStrictEqual } from 'node:util'
import type { IQueueBackend, JobSchedulerJson, Queue } from 'bullmq'
import type { EpochMs, Ms } from '../../src/core/time.ts'
import type { BackendKind } from './link.ts'

export type JobQueue<D> = Queue<D, void, string, D, void, string, IQueueBackend, BackendKind>

/** `offset`: when within each period, counted from 1970; so that many schedules do not all fire in the same second. */
export type Rhythm =
  | { readonly every: Ms; readonly offset: Ms }
  /** Five or six fields of cron, and an IANA time zone. */
  | { readonly pattern: string; readonly tz: string }

export type Schedule<D> = { readonly id: string; readonly rhythm: Rhythm; readonly job: string; readonly data: D }

/**
 * Changes nothing where all is well. Not for several at once: in Postgres a schedule that is set twice at the same moment
 * gets two runs, and leaves one out. Do not give the jobs of a schedule a deduplication id: BullMQ would take the next run for a duplicate and stop.
 */
export async function keepSchedule<D>(queue: JobQueue<D>, schedule: Schedule<D>, now: EpochMs): Promise<void> {
  const { id, rhythm, job, data } = schedule
  const kept: JobSchedulerJson<unknown> | undefined = await queue.getJobScheduler(id)
  if (kept !== undefined && isAsWanted(kept, schedule) && !hasStopped(kept, now)) return
  // Setting it again would leave it at its old place within the period.
  if (kept !== undefined && 'every' in rhythm && kept.every === rhythm.every) await queue.removeJobScheduler(id)
  await queue.upsertJobScheduler(id, whole(rhythm), { name: job, data })
}

function isAsWanted<D>(kept: JobSchedulerJson<unknown>, { rhythm, job, data }: Schedule<D>): boolean {
  const wanted = whole(rhythm)
  const same = (name: keyof typeof wanted) => (kept[name] || undefined) === (wanted[name] || undefined)
  const rhythmic = same('every') && same('pattern') && same('tz') && ('every' in rhythm ? same('offset') : true)
  return rhythmic && kept.name === job && isDeepStrictEqual(kept.template?.data ?? {}, data)
}

type Settings = { readonly every?: number; readonly offset?: number; readonly pattern?: string; readonly tz?: string }

/** Postgres takes no fractions. An offset of 0 would mean: now, and from then on. */
function whole(rhythm: Rhythm): Settings {
  if ('pattern' in rhythm) return rhythm
  const every = Math.max(1, Math.round(rhythm.every))
  return { every, offset: Math.max(1, Math.round(rhythm.offset) % every) }
}

/** How late a run may be taken up before the schedule counts as one that has stopped. */
const lateMs = 3_600_000

/** BullMQ has lost schedules: the next run lies ever longer in the past, and no job stands for it. */
function hasStopped({ next, every = 0 }: JobSchedulerJson<unknown>, now: EpochMs): boolean {
  return next === undefined || now - next > Math.max(lateMs, 2 * every)
}
