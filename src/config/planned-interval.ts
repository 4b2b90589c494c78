/** How long passes between two readings of a stream, as the schedules plan. */
import { childStreamNames, listStreamNames, type StreamName } from '../../schema/stream-specs.ts'
import { dayMs, hourMs, type Ms } from '../values/time.ts'
import { loadCronParser, type Schedule, type Schedules, scheduleNames } from './schedules.ts'

/** By schedule, with the children that follow a list. An audit reads a sample. */
export const readStreams: Readonly<Record<keyof Schedules, readonly StreamName[]>> = {
  incremental: [...listStreamNames, ...childStreamNames],
  reconcile: [...listStreamNames, ...childStreamNames, 'analytics'],
  analytics: ['analytics'],
  availability: ['availability'],
  audit: [],
}

/** The schedule that reads the stream most often, and its interval; null: none reads it. */
export function plannedReading(schedules: Schedules, stream: StreamName) {
  const readings = scheduleNames.flatMap((name) => {
    const intervalMs = longestInterval(schedules[name])
    return intervalMs === null || !readStreams[name].includes(stream)
      ? []
      : [{ schedule: schedules[name], intervalMs }]
  })
  return readings.toSorted((a, b) => a.intervalMs - b.intervalMs)[0] ?? null
}

const intervalsOfPatterns = new Map<string, Ms>()

/** Between two firings; null: it never fires. */
export function longestInterval(schedule: Schedule): Ms | null {
  switch (schedule.kind) {
    case 'off':
      return null
    case 'every':
      return schedule.ms
    case 'nightly':
      return dayMs
    case 'cron': {
      const { pattern } = schedule
      const known = intervalsOfPatterns.get(pattern) ?? longestIntervalOf(pattern)
      intervalsOfPatterns.set(pattern, known)
      return known
    }
  }
}

/** Of the next week, or between the next two firings. */
function longestIntervalOf(pattern: string): Ms {
  const firings = loadCronParser().CronExpressionParser.parse(pattern, { tz: 'UTC' })
  const { hour, dayOfMonth, month, dayOfWeek } = firings.fields
  const isDaily = [dayOfMonth, month, dayOfWeek].every(({ isWildcard }) => isWildcard)
  // What is alike in all hours, or on all days, need not be looked at for a week.
  const within = !isDaily ? 8 * dayMs : hour.isWildcard ? 2 * hourMs : 2 * dayMs
  const first = firings.next().getTime()
  let [before, longest] = [first, 0]
  while (longest === 0 || before < first + within) {
    const at = firings.next().getTime()
    longest = Math.max(longest, at - before)
    before = at
  }
  return longest
}
