/** The report of a project: the document from which the pages are made. */

import { datePartsOf, dayNumber } from '../../values/days.ts'
import type { ProjectName } from '../../values/project.ts'
import { type EpochMs, type LocalDate, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { chooseReportPeriod, type DateRange, datesOf } from '../core/report-period.ts'
import { type HourRow, type ReportData, readReportData } from '../sql/report-data.ts'
import type { DayLevels, ReportNumbers, ResponseTimeRow, TargetRow } from '../sql/report-periods.ts'
import type { OpenQueue } from '../sql/waiting.ts'
import { type Change, changeOf } from './change.ts'
import { findUncertainties } from './uncertainties.ts'

export type Report = {
  readonly project: ProjectName
  readonly timeZone: string
  readonly generatedAt: string
  /** Conversations and messages are complete up to this time; null = not read to the end yet. */
  readonly asOf: string | null
  readonly period: DateRange & {
    readonly days: number
    /** Such as `2026-W46`; null = the period is not one ISO week. */
    readonly isoWeek: string | null
    /** Its last day has ended. */
    readonly isOver: boolean
    /** The days of the numbers, which are over and read; null = there is none, so all are. */
    readonly whole: DateRange | null
  }
  readonly before: DateRange
  readonly volume: Changes<
    | 'conversationsStarted'
    | 'waits'
    | 'answeredByHuman'
    | 'answeredByAi'
    | 'closedWithoutAnswer'
    | 'ongoingWaits'
    | 'visitorMessages'
    | 'humanMessages'
    | 'aiMessages'
  >
  readonly responseTimes: readonly (Pick<ResponseTimeRow, 'which' | 'clock' | 'hours'> &
    Changes<'answers' | 'medianSeconds' | 'p90Seconds'>)[]
  readonly backlog: Changes<'opened' | 'reopenings' | 'handlings' | 'openAtEnd' | 'waitingAtEnd'>
  readonly waitingNow: OpenQueue
  /** Of the conversations created in the period. */
  readonly ai: Changes<
    'withAi' | 'aiOnly' | 'handedOver' | 'withAiShare' | 'aiOnlyShare' | 'handedOverShare'
  >
  readonly agents: readonly ({ readonly name: string } & Changes<
    'messages' | 'conversations' | 'answers' | 'medianSeconds' | 'p90Seconds'
  >)[]
  /** Null: calls are not mirrored. */
  readonly calls: Changes<
    'calls' | 'callers' | 'withRecording' | 'withLength' | 'seconds' | 'medianSeconds'
  > | null
  readonly targets: readonly (Pick<TargetRow, 'name' | 'targetSeconds' | 'hours'> &
    Changes<'waits' | 'met' | 'missed' | 'open' | 'without' | 'metShare'>)[]
  readonly days: readonly Day[]
  readonly hours: readonly HourRow[]
  /** `what`: a stable name. */
  readonly uncertainties: readonly { readonly what: string; readonly text: string }[]
}

type Changes<Name extends string> = { readonly [name in Name]: Change }

/** `weekday`: 1 = Monday … 7. `isWhole`: it is over and read to its end. */
export type Day = DayLevels & { readonly weekday: number; readonly isWhole: boolean } & Readonly<
    Record<'started' | 'waits' | 'handlings', number>
  >

/** Null: no facts have been derived yet. Throws UserError if the period is invalid. */
export async function readReport(
  { db, kind, project }: ProjectDb,
  name: string,
  dates: Partial<DateRange> | 'last 7 days',
  now: EpochMs,
): Promise<Report | null> {
  const choose = (...days: [LocalDate, LocalDate]) => chooseReportPeriod(dates, ...days)
  const data = await readReportData(db, kind, project, now, choose)
  return data && buildReport(name, data, now)
}

export function buildReport(name: string, data: ReportData, now: EpochMs): Report {
  const { period, project, current } = data
  // Zeros of days that the mirror cannot know would look like growth.
  const hasBefore = data.firstDate !== null && data.firstDate <= period.before.to
  const before = hasBefore && period.whole !== null ? data.before : null
  const begins = (date: LocalDate | null) => date !== null && date <= period.before.from
  const isWhole = begins(data.firstDate)
  const isWatched = begins(data.mirroredFrom)
  const { volume, opened, watched } = numbersOf(current)
  const earlier = before && numbersOf(before)
  const days = dayNumber(period.to) - dayNumber(period.from) + 1
  const { week, iso_week } = datePartsOf(dayNumber(period.from))
  return {
    project: name,
    timeZone: project.timeZone,
    generatedAt: toTimestamp(now),
    asOf: project.asOf,
    period: {
      from: period.from,
      to: period.to,
      days,
      isoWeek: days === 7 && week === period.from ? iso_week : null,
      isOver: period.to < data.today,
      whole: period.whole,
    },
    before: period.before,
    volume: compareEach(volume, earlier?.volume ?? null, isWhole),
    responseTimes: current.responseTimes
      // Without business hours, the times within them would repeat the others.
      .filter(({ hours }) => hours === 'all' || data.hasBusinessHours)
      .map(({ which, clock, hours, ...durations }) => {
        const isSame = (row: ResponseTimeRow) =>
          row.which === which && row.clock === clock && row.hours === hours
        return {
          which,
          clock,
          hours,
          ...compareEach(durations, before?.responseTimes.find(isSame) ?? null, isWhole),
        }
      }),
    backlog: {
      ...compareEach({ opened }, earlier, isWhole),
      ...compareEach(watched, earlier?.watched ?? null, isWhole && isWatched),
    },
    waitingNow: data.queue,
    ai: compareEach(aiOf(current.counts), before && aiOf(before.counts), isWhole),
    // Those who wrote nothing in the period are left out.
    agents: current.agents.map(({ name, ...numbers }) => {
      const same = before?.agents.find((agent) => agent.name === name) ?? (before && nobody)
      return { name, ...compareEach(numbers, same, isWhole) }
    }),
    calls:
      project.callsAsOf === null
        ? null
        : compareEach(
            current.calls,
            before?.calls ?? null,
            data.firstCallDate === '' || begins(data.firstCallDate),
          ),
    targets: current.targets.map(({ name, targetSeconds, hours, ...numbers }) => {
      const same = before?.targets.find((target) => target.name === name)
      return { name, targetSeconds, hours, ...compareEach(numbers, same ?? null, isWhole) }
    }),
    // Every day of the period, also those that the calendar of the warehouse does not reach.
    days: datesOf(period).map((date) => {
      const { weekday } = datePartsOf(dayNumber(date))
      const isWhole = period.whole !== null && date <= period.whole.to
      const row = data.days.find((day) => day.date === date)
      const { started = 0, waits = 0, handlings = 0 } = row ?? {}
      const { openAtEnd = null, waitingAtEnd = null, humanAnswerMedianSeconds = null } = row ?? {}
      const levels = { openAtEnd, waitingAtEnd, humanAnswerMedianSeconds }
      return { date, started, waits, handlings, ...levels, weekday, isWhole }
    }),
    hours: data.hours,
    uncertainties: findUncertainties(data),
  }
}

const nobody = { messages: 0, conversations: 0, answers: 0, medianSeconds: null, p90Seconds: null }

function compareEach<Name extends string>(
  current: { readonly [name in Name]: number | null },
  before: { readonly [name in NoInfer<Name>]: number | null } | null,
  isBeforeWhole: boolean,
): Changes<Name> {
  const names = Object.keys(current) as Name[]
  return Object.fromEntries(
    names.map((name) => [name, changeOf(current[name], before?.[name] ?? null, isBeforeWhole)]),
  ) as Changes<Name>
}

/** `watched`: too small before changes were watched, as reopenings were not seen. */
function numbersOf({ counts, levels }: ReportNumbers) {
  const { started, incomplete, aiOnly, humanAndAi, opened, reopenings, handlings, ...volume } =
    counts
  return {
    volume: { conversationsStarted: started, ...volume },
    opened,
    watched: { reopenings, handlings, ...levels },
  }
}

function aiOf({ started, aiOnly, humanAndAi: handedOver }: ReportNumbers['counts']) {
  const withAi = aiOnly + handedOver
  const shares = {
    aiOnlyShare: shareOf(aiOnly, withAi),
    handedOverShare: shareOf(handedOver, withAi),
  }
  return { withAi, aiOnly, handedOver, withAiShare: shareOf(withAi, started), ...shares }
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}
