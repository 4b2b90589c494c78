/** The report of a project: the document that `--format json` prints, and from which the pages are made. */

import type { ProjectName } from '../../values/project.ts'
import { type EpochMs, type LocalDate, type Seconds, toTimestamp } from '../../values/time.ts'
import { datePartsOf, dateText, dayNumber } from '../../values/time-zone.ts'
import { type DateRange, datesOf } from '../core/report-period.ts'
import type { DayRow, HourRow, OpenQueue, ReportData, RollupRow } from '../sql/report-data.ts'
import type { PeriodData, ResponseTimeRow } from '../sql/report-period-data.ts'
import { type Change, changeOf } from './change.ts'
import { findUncertainties, type Uncertainty } from './uncertainties.ts'

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
  readonly responseTimes: readonly ResponseTime[]
  readonly backlog: Changes<'opened' | 'reopenings' | 'handlings' | 'openAtEnd' | 'waitingAtEnd'>
  readonly waitingNow: OpenQueue
  /** Of the conversations created in the period. */
  readonly ai: Changes<'withAi' | 'aiOnly' | 'handedOver' | 'withAiShare' | 'aiOnlyShare' | 'handedOverShare'>
  readonly agents: readonly Agent[]
  /** Null: calls are not mirrored. */
  readonly calls: Changes<'calls' | 'callers' | 'withRecording' | 'withLength' | 'seconds' | 'medianSeconds'> | null
  readonly targets: readonly Target[]
  readonly days: readonly Day[]
  readonly hours: readonly HourRow[]
  readonly rollup: readonly RollupRow[]
  readonly uncertainties: readonly Uncertainty[]
}

type Changes<Name extends string> = { readonly [name in Name]: Change }

export type ResponseTime = Pick<ResponseTimeRow, 'which' | 'clock' | 'hours'> &
  Changes<'answers' | 'medianSeconds' | 'p90Seconds'>

type Agent = { readonly name: string } & Changes<
  'messages' | 'conversations' | 'answers' | 'medianSeconds' | 'p90Seconds'
>

type Target = { readonly name: string; readonly targetSeconds: Seconds } & Changes<
  'waits' | 'met' | 'missed' | 'open' | 'without' | 'metShare'
>

/** `weekday`: 1 = Monday … 7. */
export type Day = DayRow & { readonly weekday: number }

export function buildReport(name: string, data: ReportData, now: EpochMs): Report {
  const { period, project, current } = data
  // Zeros of days that the mirror cannot know would look like growth.
  const hasBefore = data.firstDate !== null && data.firstDate <= period.before.to
  const before = hasBefore ? data.before : null
  return {
    project: name,
    timeZone: project.timeZone,
    generatedAt: toTimestamp(now),
    asOf: project.asOf,
    period: describePeriod(period, data.today),
    before: period.before,
    volume: compareEach(volumeOf(current), before && volumeOf(before)),
    responseTimes: compareResponseTimes(data, before),
    backlog: compareEach(current.backlog, before?.backlog ?? null),
    waitingNow: data.queue,
    ai: compareEach(aiOf(current), before && aiOf(before)),
    agents: compareAgents(current, before),
    calls: project.callsAsOf === null ? null : compareEach(current.calls, before?.calls ?? null),
    targets: compareTargets(current, before),
    days: daysOf(period, data.days),
    hours: data.hours,
    rollup: data.rollup,
    uncertainties: findUncertainties(data),
  }
}

function describePeriod({ from, to }: DateRange, today: LocalDate): Report['period'] {
  const days = dayNumber(to) - dayNumber(from) + 1
  const { week, iso_week } = datePartsOf(dayNumber(from))
  return { from, to, days, isoWeek: days === 7 && week === from ? iso_week : null, isOver: to < today }
}

/** Compares all members. */
function compareEach<Name extends string>(
  current: { readonly [name in Name]: number | null },
  before: { readonly [name in NoInfer<Name>]: number | null } | null,
): Changes<Name> {
  const names = Object.keys(current) as Name[]
  return Object.fromEntries(
    names.map((name) => [name, changeOf(current[name], before?.[name] ?? null)]),
  ) as Changes<Name>
}

function volumeOf({ conversations, waits, messages }: PeriodData) {
  return { conversationsStarted: conversations.started, ...waits, ...messages }
}

/** Without business hours, the times within them would repeat the others. */
function compareResponseTimes({ current, hasBusinessHours }: ReportData, before: PeriodData | null): ResponseTime[] {
  return current.responseTimes
    .filter(({ hours }) => hours === 'all' || hasBusinessHours)
    .map(({ which, clock, hours, ...durations }) => {
      const same = before?.responseTimes.find(
        (row) => row.which === which && row.clock === clock && row.hours === hours,
      )
      return { which, clock, hours, ...compareEach(durations, same ?? null) }
    })
}

function aiOf({ conversations: { started, aiOnly, humanAndAi } }: PeriodData) {
  const withAi = aiOnly + humanAndAi
  return {
    withAi,
    aiOnly,
    handedOver: humanAndAi,
    withAiShare: shareOf(withAi, started),
    aiOnlyShare: shareOf(aiOnly, withAi),
    handedOverShare: shareOf(humanAndAi, withAi),
  }
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

/** Agents of the period; those who wrote nothing in it are left out. */
function compareAgents(current: PeriodData, before: PeriodData | null): Agent[] {
  const nobody = { messages: 0, conversations: 0, answers: 0, medianSeconds: null, p90Seconds: null }
  return current.agents.map(({ name, ...numbers }) => {
    const same = before === null ? null : (before.agents.find((agent) => agent.name === name) ?? nobody)
    return { name, ...compareEach(numbers, same) }
  })
}

function compareTargets(current: PeriodData, before: PeriodData | null): Target[] {
  return current.targets.map(({ name, targetSeconds, ...counts }) => {
    const same = before?.targets.find((target) => target.name === name)
    return { name, targetSeconds, ...compareEach(withShare(counts), same === undefined ? null : withShare(same)) }
  })
}

type TargetCounts = Omit<PeriodData['targets'][number], 'name' | 'targetSeconds'>

function withShare({ waits, met, missed, open, without }: TargetCounts) {
  return { waits, met, missed, open, without, metShare: shareOf(met, met + missed) }
}

/** Every day of the period, also those that the calendar of the warehouse does not reach. */
function daysOf(period: DateRange, rows: readonly DayRow[]): Day[] {
  const byDate = new Map(rows.map((row) => [row.date, row]))
  return datesOf(period).map((date) => {
    const { weekday } = datePartsOf(dayNumber(date))
    return { ...(byDate.get(date) ?? { date: dateText(dayNumber(date)), ...emptyDay }), weekday }
  })
}

const emptyDay = {
  started: 0,
  waits: 0,
  handlings: 0,
  openAtEnd: null,
  waitingAtEnd: null,
  humanAnswerMedianSeconds: null,
}
