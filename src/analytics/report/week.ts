/** The last seven days that are over beside the seven before them: what a lead looks at first, every morning. */
import type { EpochMs, Seconds } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type DateRange, datesOf } from '../core/report-period.ts'
import { readWeekData, type WeekData, type WeekDay } from '../sql/week-data.ts'
import { type Change, changeOf } from './change.ts'

/** The same numbers of a day and of a week. */
export type WeekNumbers = ReturnType<typeof numbersOf>

/**
 * `before`: shorter than a week where the mirror does not reach back to all of it; null = to nothing of it. `days` and
 * `daysBefore`: one after the other; null = a day to which it does not reach.
 */
export type Week = {
  readonly period: DateRange
  readonly before: (DateRange & { readonly isWhole: boolean }) | null
  readonly changes: { readonly [name in keyof WeekNumbers]: Change }
  readonly days: readonly (WeekNumbers | null)[]
  readonly daysBefore: readonly (WeekNumbers | null)[]
}

/** Before changes were watched, reopenings were not seen, so these are too small. */
const watched: readonly (keyof WeekNumbers)[] = ['waitingAtEnd', 'openAtEnd', 'handlings']

/** Null: no day has been read to its end yet. */
export async function readWeek(context: ProjectDb, now: EpochMs): Promise<Week | null> {
  const data = await readWeekData(context, now)
  return data && buildWeek(data)
}

export function buildWeek({ period, firstDate, mirroredFrom, days, medians }: WeekData): Week {
  const { before } = period
  const medianOf = (isCurrent: boolean) => medians.find((row) => Boolean(row.isCurrent) === isCurrent)?.seconds ?? null
  const rowsOf = ({ from, to }: DateRange) => days.filter(({ date }) => date >= from && date <= to)
  const current = numbersOf(rowsOf(period), medianOf(true))
  // Zeros of days that the mirror cannot know would look like growth.
  const hasBefore = firstDate !== null && firstDate <= before.to
  const earlier = hasBefore ? numbersOf(rowsOf(before), medianOf(false)) : null
  const isWhole = hasBefore && firstDate <= before.from
  const names = Object.keys(current) as (keyof WeekNumbers)[]
  const isKnown = (name: keyof WeekNumbers) => isWhole && (mirroredFrom <= before.from || !watched.includes(name))
  const changes = names.map((name) => [name, changeOf(current[name], earlier?.[name] ?? null, isKnown(name))])
  const eachDay = (range: DateRange) =>
    datesOf(range).map((date) => {
      const row = days.find((day) => day.date === date)
      return row === undefined || firstDate === null || date < firstDate ? null : numbersOf([row], row.medianSeconds)
    })
  return {
    period: { from: period.from, to: period.to },
    before: hasBefore ? { from: isWhole ? before.from : firstDate, to: before.to, isWhole } : null,
    changes: Object.fromEntries(changes) as Week['changes'],
    ...{ days: eachDay(period), daysBefore: eachDay(before) },
  }
}

/** Levels are those at the end of the last day. */
function numbersOf(days: readonly WeekDay[], medianSeconds: Seconds | null) {
  const sumOf = (name: 'started' | 'withAi' | 'aiOnly' | 'handlings') => days.reduce((sum, day) => sum + day[name], 0)
  const withAi = sumOf('withAi')
  const { openAtEnd = null, waitingAtEnd = null } = days.at(-1) ?? {}
  return {
    ...{ started: sumOf('started'), medianSeconds, waitingAtEnd, openAtEnd, handlings: sumOf('handlings') },
    aiOnlyShare: withAi === 0 ? null : sumOf('aiOnly') / withAi,
  }
}
