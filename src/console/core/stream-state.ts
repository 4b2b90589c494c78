/**
 * The one word for how a stream is doing, and what its schedule promises. Numbers stand beside it
 * on every page. Pure.
 */
import type { StreamName } from '../../../schema/stream-specs.ts'
import { plannedReading } from '../../config/planned-interval.ts'
import type { Schedule, Schedules } from '../../config/schedules.ts'
import { describeFailure } from '../../service/core/api-failure.ts'
import { formatDuration } from '../../values/format.ts'
import type { EpochMs, Ms } from '../../values/time.ts'

/** `read`: nobody promises when it is read again, so it is neither fresh nor late. */
export type StreamState = 'fresh' | 'late' | 'failing' | 'skipped' | 'running' | 'unread' | 'read'

/** The failure text of a stream whose sync was interrupted; it has not failed. */
const interrupted = describeFailure({ kind: 'aborted' })

export function streamStateOf(
  {
    failed,
    skipped,
    syncedAt,
    isRunning,
    maxAgeMs,
  }: {
    /** When it was last read to its end; null = never. */
    readonly syncedAt: string | null
    /** The scope that the key lacks. */
    readonly skipped: string | null
    /** Why the last sync failed. */
    readonly failed: string | null
    readonly isRunning: boolean
    /** See `scheduleOf`. */
    readonly maxAgeMs: Ms | null
  },
  now: EpochMs,
): StreamState {
  if (failed !== null && failed !== interrupted) return 'failing'
  if (skipped !== null) return 'skipped'
  if (syncedAt === null) return isRunning ? 'running' : 'unread'
  if (maxAgeMs === null) return 'read'
  if (now - Date.parse(syncedAt) <= maxAgeMs) return 'fresh'
  return isRunning ? 'running' : 'late'
}

/**
 * `schedules` null: not known here. `hasWorker`: a worker runs, and keeps the promise. `maxAgeMs`:
 * how old the schedule lets the stream become; null = it has none, or nobody runs it.
 */
export function scheduleOf(
  stream: StreamName,
  schedules: Schedules | null,
  hasWorker: boolean,
): { readonly schedule: string | null; readonly maxAgeMs: Ms | null } {
  if (schedules === null) return { schedule: null, maxAgeMs: null }
  const planned = plannedReading(schedules, stream)
  if (planned === null) return { schedule: scheduleText({ kind: 'off' }), maxAgeMs: null }
  // As in the worker's own search for overdue work: two intervals.
  const maxAgeMs = hasWorker ? 2 * planned.intervalMs + 60_000 : null
  return { schedule: scheduleText(planned.schedule), maxAgeMs }
}

export function scheduleText(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'every':
      return `every ${formatDuration(schedule.ms)}`
    case 'nightly':
      return 'every night'
    case 'cron':
      return `cron ${schedule.pattern}`
    case 'off':
      return 'off'
  }
}
