/** Sets job schedules. Idempotent, and safe for several processes. */
import { isDeepStrictEqual } from 'node:util'
import type { IQueueBackend, JobSchedulerJson, Queue } from 'bullmq'
import type { EpochMs } from '../../src/values/time.ts'
import type { BackendKind, JobSchedule, Recurrence } from './backend.ts'

export type BullQueue<D> = Queue<D, void, string, D, void, string, IQueueBackend, BackendKind>

/**
 * Changes nothing if the schedule is up to date. Do not call it concurrently: in Postgres a schedule that is set twice at
 * the same time gets two runs, and skips one. Do not give scheduled jobs a deduplication id: BullMQ would take the next
 * run for a duplicate and stop.
 */
export async function ensureSchedule<D>(queue: BullQueue<D>, schedule: JobSchedule<D>, now: EpochMs): Promise<void> {
  const { id, recurrence, job, data } = schedule
  const existing: JobSchedulerJson<unknown> | undefined = await queue.getJobScheduler(id)
  if (existing !== undefined && isUpToDate(existing, schedule) && !hasStopped(existing, now)) return
  // Setting it again would keep the old position within the period.
  if (existing !== undefined && 'every' in recurrence && existing.every === recurrence.every)
    await queue.removeJobScheduler(id)
  await queue.upsertJobScheduler(id, toRepeatSettings(recurrence), { name: job, data })
}

function isUpToDate<D>(existing: JobSchedulerJson<unknown>, { recurrence, job, data }: JobSchedule<D>): boolean {
  const wanted = toRepeatSettings(recurrence)
  const same = (name: keyof typeof wanted) => (existing[name] || undefined) === (wanted[name] || undefined)
  const hasSameRecurrence =
    same('every') && same('pattern') && same('tz') && ('every' in recurrence ? same('offset') : true)
  return hasSameRecurrence && existing.name === job && isDeepStrictEqual(existing.template?.data ?? {}, data)
}

type RepeatSettings = {
  readonly every?: number
  readonly offset?: number
  readonly pattern?: string
  readonly tz?: string
}

/** Postgres takes no fractions. An offset of 0 would start the period now. */
function toRepeatSettings(recurrence: Recurrence): RepeatSettings {
  if ('pattern' in recurrence) return recurrence
  const every = Math.max(1, Math.round(recurrence.every))
  return { every, offset: Math.max(1, Math.round(recurrence.offset) % every) }
}

/** How late a run may start before the schedule counts as stopped. */
const maxLateMs = 3_600_000

/** BullMQ can lose schedules: their next run stays in the past, and no job exists for it. */
function hasStopped({ next, every = 0 }: JobSchedulerJson<unknown>, now: EpochMs): boolean {
  return next === undefined || now - next > Math.max(maxLateMs, 2 * every)
}
