/** A project as the console knows it: from the configuration, or from the warehouse alone. */

import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import type { ProjectConfig } from '../../config/config.ts'
import type { Schedule, ScheduleName, Schedules } from '../../config/default-schedules.ts'
import { isTimeZone } from '../../config/fields.ts'
import type { BudgetPolicy } from '../../service/core/budget.ts'
import { formatDuration } from '../../values/format.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'

export type ConsoleProject = {
  readonly name: ProjectName
  readonly projectId: ProjectId
  /** IANA name. */
  readonly timeZone: string
  readonly streams: readonly StreamName[]
  /** Null: without a configuration nobody knows. */
  readonly schedules: Schedules | null
  /** Requests a minute; null as above. */
  readonly limit: number | null
  /** For estimates. */
  readonly rates: BudgetPolicy
  /** Whether people may approve what they queued themselves. */
  readonly approveOwn: boolean
  /** How long an approval can be taken back. */
  readonly graceMs: Ms
  /** Whether words of messages can be searched. */
  readonly hasSearch: boolean
}

export function consoleProjectOf(project: ProjectConfig): ConsoleProject {
  const { name, projectId, timeZone, streams, schedules, rate, approveOwn, approveGraceMs } = project
  const limit = Math.round((rate.requests * 60_000) / rate.windowMs)
  return {
    name,
    projectId,
    timeZone,
    streams,
    schedules,
    limit,
    rates: project,
    approveOwn,
    graceMs: approveGraceMs,
    hasSearch: project.search,
  }
}

const defaultRates: BudgetPolicy = {
  rate: { requests: 600, windowMs: 60_000 },
  writeRate: { requests: 120, windowMs: 60_000 },
  reserve: 0,
  rateMargin: null,
}

/** Of a warehouse that is opened without a configuration. Its time zone may be one that this machine does not know. */
export function unconfiguredProject(projectId: ProjectId, timeZone: string | null): ConsoleProject {
  const unknown = { schedules: null, limit: null, rates: defaultRates, approveOwn: true, graceMs: 0, hasSearch: true }
  const known = timeZone !== null && isTimeZone(timeZone) ? timeZone : 'UTC'
  return { name: String(projectId), projectId, timeZone: known, streams: streamNames, ...unknown }
}

const dayMs: Ms = 86_400_000

/** What the schedule of a stream promises. `hasWorker`: a worker runs, and keeps the promise. */
export function scheduleOf(stream: StreamName, { schedules }: ConsoleProject, hasWorker: boolean) {
  if (schedules === null) return { schedule: null, maxAgeMs: null }
  const schedule = schedules[scheduleNameOf(stream)]
  const period = periodOf(schedule)
  // As in the worker's own search for overdue work: two periods.
  const maxAgeMs = period === null || !hasWorker ? null : 2 * period + 60_000
  return { schedule: scheduleText(schedule), maxAgeMs }
}

function scheduleNameOf(stream: StreamName): ScheduleName {
  return stream === 'analytics' || stream === 'availability' ? stream : 'incremental'
}

/** Null: never. A cron pattern counts as once a day. */
function periodOf(schedule: Schedule): Ms | null {
  if (schedule.kind === 'off') return null
  return schedule.kind === 'every' ? schedule.ms : dayMs
}

function scheduleText(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'every':
      return `every ${formatDuration(schedule.ms).replace(/\.0 s$/, ' s')}`
    case 'nightly':
      return 'every night'
    case 'cron':
      return `cron ${schedule.pattern}`
    case 'off':
      return 'off'
  }
}
