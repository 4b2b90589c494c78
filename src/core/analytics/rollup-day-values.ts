/** What the events of a measure come to on each day of each border. */
import type { EpochSeconds, Seconds } from '../time.ts'
import type { RollupDays } from './rollup-days.ts'

/** An occurrence of what a measure counts. */
export type MeasureEvent = {
  readonly at: EpochSeconds
  /** An hour, or an id where each counts once. */
  readonly value: number | string
  /** It stands for that many equal ones; 1 if missing. */
  readonly count?: number
  /** It counts only in what was read before: a deleted conversation until it was deleted. */
  readonly until?: EpochSeconds | undefined
}

type Events = Iterable<MeasureEvent>

/** A zone's day may go on when the day that was asked for is over: a reading knows nothing of later times. */
function isShown({ at, until }: MeasureEvent, readAt: EpochSeconds): boolean {
  return at <= readAt && (until === undefined || readAt < until)
}

/** For each event, each day whose reading shows it. */
function forEachShown(
  events: Events,
  { days, daysAt }: RollupDays,
  use: (day: number, event: MeasureEvent) => void,
): void {
  for (const event of events)
    for (const day of daysAt(event.at)) if (isShown(event, days[day]?.readAt ?? 0)) use(day, event)
}

/** How many events each day has. */
export function countEvents(events: Events, days: RollupDays): Float64Array {
  const counts = new Float64Array(days.days.length)
  forEachShown(events, days, (day, { count = 1 }) => {
    counts[day] = (counts[day] ?? 0) + count
  })
  return counts
}

/** How many different values each day has. */
export function countDifferent(events: Events, days: RollupDays): Float64Array {
  const counts = new Float64Array(days.days.length)
  /** By day: the last of the groups that was counted there. */
  const countedBy = new Int32Array(days.days.length)
  for (const [index, group] of Map.groupBy(events, ({ value }) => value)
    .values()
    .toArray()
    .entries())
    forEachShown(group, days, (day) => {
      if (countedBy[day] === index + 1) return
      countedBy[day] = index + 1
      counts[day] = (counts[day] ?? 0) + 1
    })
  return counts
}

/** Durations by column: the time that decides on the day, and the first reading that shows it. */
export type Durations = Readonly<Record<'at' | 'since', readonly EpochSeconds[]>> & {
  readonly seconds: readonly Seconds[]
}

/** The durations of each day, in ascending order. Plain loops: a large project has many of them in the days of all borders. */
export function sortedDurations({ at, since, seconds }: Durations, { days, daysAt }: RollupDays): Float64Array[] {
  const readAt = Float64Array.from(days, (day) => day.readAt)
  const sizes = new Int32Array(days.length)
  const forEachDay = (use: (day: number, duration: Seconds) => void) => {
    for (let n = 0; n < at.length; n++) {
      const found = daysAt(at[n] ?? 0)
      const shownFrom = Math.max(at[n] ?? 0, since[n] ?? 0)
      for (let index = 0; index < found.length; index++) {
        const day = found[index] ?? 0
        if (shownFrom <= (readAt[day] ?? 0)) use(day, seconds[n] ?? 0)
      }
    }
  }
  forEachDay((day) => {
    sizes[day] = (sizes[day] ?? 0) + 1
  })
  // Parts of one array: the C library would keep the memory of thousands of small ones.
  const all = new Float64Array(sizes.reduce((total, size) => total + size, 0))
  let end = 0
  const durations = Array.from(sizes, (size) => {
    end += size
    return all.subarray(end - size, end)
  })
  forEachDay((day, duration) => {
    const left = (sizes[day] ?? 0) - 1
    sizes[day] = left
    const ofDay = durations[day]
    if (ofDay !== undefined) ofDay[left] = duration
  })
  for (const ofDay of durations) ofDay.sort()
  return durations
}

const hoursOfDay = 24

/** How many events each hour of each day has, by day times 24 plus the hour, which is the value. */
export function countByHour(events: Events, days: RollupDays): Float64Array {
  const counts = new Float64Array(days.days.length * hoursOfDay)
  addByHour(counts, events, days)
  return counts
}

/** Adds events to `counts`. */
export function addByHour(counts: Float64Array, events: Events, days: RollupDays): void {
  forEachShown(events, days, (day, { value, count = 1 }) => {
    const index = day * hoursOfDay + Number(value)
    counts[index] = (counts[index] ?? 0) + count
  })
}

/** The hours of a day with events, the one with the most first; of two that are equally frequent, the lower one. */
export function hoursByFrequency(counts: Float64Array, day: number): number[] {
  const ofDay = counts.subarray(day * hoursOfDay, (day + 1) * hoursOfDay)
  const hours = [...ofDay.keys()].filter((hour) => (ofDay[hour] ?? 0) > 0)
  return hours.sort((a, b) => (ofDay[b] ?? 0) - (ofDay[a] ?? 0) || a - b)
}
