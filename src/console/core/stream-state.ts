/**
 * The one word for how a stream is doing, and what its schedule promises. Numbers stand beside it
 * on every page. Pure.
 */
import type { StreamName } from '../../../schema/stream-specs.ts'
import type { Schedule, Schedules } from '../../config/default-schedules.ts'
import { describeFailure } from '../../service/core/api-failure.ts'
import { formatDuration } from '../../values/format.ts'
import { dayMs, type EpochMs, type Ms } from '../../values/time.ts'

type StreamFacts = {
  /** When it was last read to its end; null = never. */
  readonly syncedAt: string | null
  /** The scope that the key lacks. */
  readonly skipped: string | null
  /** Why the last sync failed. */
  readonly failed: string | null
  /** A process is syncing it now. */
  readonly isRunning: boolean
  /** How old the schedule lets it become; null = it has none, or nobody runs it. */
  readonly maxAgeMs: Ms | null
}

/** `read`: nobody promises when it is read again, so it is neither fresh nor late. */
export type StreamState = 'fresh' | 'late' | 'failing' | 'skipped' | 'running' | 'unread' | 'read'

/** The failure text of a stream whose sync was interrupted; it has not failed. */
const interrupted = describeFailure({ kind: 'aborted' })

export function streamStateOf(facts: StreamFacts, now: EpochMs): StreamState {
  const { failed, skipped, syncedAt, isRunning, maxAgeMs } = facts
  if (failed !== null && failed !== interrupted) return 'failing'
  if (skipped !== null) return 'skipped'
  if (syncedAt === null) return isRunning ? 'running' : 'unread'
  if (maxAgeMs === null) return 'read'
  if (now - Date.parse(syncedAt) <= maxAgeMs) return 'fresh'
  return isRunning ? 'running' : 'late'
}

/** `schedules` null: not known here. `hasWorker`: a worker runs, and keeps the promise. */
export function scheduleOf(
  stream: StreamName,
  schedules: Schedules | null,
  hasWorker: boolean,
): Pick<StreamFacts, 'maxAgeMs'> & { readonly schedule: string | null } {
  if (schedules === null) return { schedule: null, maxAgeMs: null }
  const schedule =
    schedules[stream === 'analytics' || stream === 'availability' ? stream : 'incremental']
  // A cron pattern counts as once a day.
  const periodMs = schedule.kind === 'every' ? schedule.ms : dayMs
  const isPromised = hasWorker && schedule.kind !== 'off'
  // As in the worker's own search for overdue work: two periods.
  return { schedule: scheduleText(schedule), maxAgeMs: isPromised ? 2 * periodMs + 60_000 : null }
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
