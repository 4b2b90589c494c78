/**
 * What a report shows, by the definitions of the pages about a period. Medians are those of all
 * values, never of medians of days.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { ProjectId } from '../../values/project.ts'
import type { LocalDate, Seconds } from '../../values/time.ts'
import type { SnapshotReader } from '../../warehouse/transactions.ts'
import type { DateRange, ReportPeriod } from '../core/report-period.ts'
import { periodTables } from '../views/all-period-pages.ts'
import { columnsByDay, countIf, mergeByKey, percentilesOf } from '../views/by-windows.ts'
import { daySources } from '../views/days.ts'
import { type Within, where } from '../views/period-table.ts'
import { sqlDialects } from '../views/sql-dialect.ts'
import { kind } from '../views/view-spec.ts'
import { completeWaits } from '../views/waits.ts'
import { columns, quoted } from './read-period-table.ts'

export type ReportNumbers = Awaited<ReturnType<typeof readPeriods>>['current']

/** Those of days add up to those of a period. */
const countNames = [
  'started',
  'incomplete',
  'aiOnly',
  'humanAndAi',
  'waits',
  'answeredByHuman',
  'answeredByAi',
  'closedWithoutAnswer',
  'ongoingWaits',
  'visitorMessages',
  'humanMessages',
  'aiMessages',
  'opened',
  'reopenings',
  'handlings',
] as const
type Counts = Readonly<Record<(typeof countNames)[number], number>>

export type DayLevels = Readonly<
  { date: LocalDate } & Record<
    'openAtEnd' | 'waitingAtEnd' | 'humanAnswerMedianSeconds',
    number | null
  >
>

/** `any`: until a human or the AI answered. */
export type ResponseTimeRow = {
  readonly which: 'first' | 'every'
  readonly clock: 'human' | 'any'
  readonly hours: 'all' | 'business'
} & Durations

/** Null: there are no values. */
type Durations = {
  readonly answers: number
  readonly medianSeconds: Seconds | null
  readonly p90Seconds: Seconds | null
}

/** The current one is the part of the period that is over and read to its end, if there is one. */
export async function readPeriods(
  read: SnapshotReader,
  database: DatabaseKind,
  project: ProjectId,
  period: ReportPeriod,
  today: LocalDate,
) {
  const within = (range: DateRange) => quoted(project, { ...range, agent: null })
  const ranges = { current: period.whole ?? period, before: period.before }
  const days = await readDays(read, within({ from: period.before.from, to: period.to }), today)
  const responseTimes = await readResponseTimes(read, {
    current: within(ranges.current),
    before: within(ranges.before),
  })
  const readPeriod = async (part: Part) => {
    const { from, to } = ranges[part]
    const range = within(ranges[part])
    const daysOfPart = days.filter(({ date }) => date >= from && date <= to)
    const sums = countNames.map((name) => [
      name,
      daysOfPart.reduce((sum, day) => sum + day[name], 0),
    ])
    const { openAtEnd = null, waitingAtEnd = null } =
      daysOfPart.findLast((day) => day.openAtEnd !== null) ?? {}
    return {
      counts: Object.fromEntries(sums) as Counts,
      /** At the end of the last day that has begun; null = there is none. */
      levels: { openAtEnd, waitingAtEnd },
      responseTimes: responseTimes(part),
      agents: await readAgents(read, range),
      calls: await readCalls(read, range),
      targets: await readTargets(read, database, range),
    }
  }
  /** `days`: of both periods, those with any number, in order. */
  return { current: await readPeriod('current'), before: await readPeriod('before'), days }
}

const messagesOf = (role: string) =>
  [
    kind.count(`of the role ${role}`),
    `sum(case when role = '${role}' then messages else 0 end)`,
  ] as const

/** What a report shows of `report_day`, and more of its conversations and messages. */
const { conversations, waits, answers, backlog } = daySources
const dayQuery = mergeByKey(
  ['project_id', 'date'],
  [
    columnsByDay('fct_conversation', 'created_date', {
      ...conversations.columns,
      human_and_ai: countIf('of these, those in which both wrote', "answered_by = 'human and ai'"),
    }),
    columnsByDay('fct_contribution', 'date', {
      visitor_messages: messagesOf('visitor'),
      human_messages: messagesOf('human'),
      ai_messages: messagesOf('ai'),
    }),
    waits,
    answers,
    backlog,
  ],
)

/** The levels of days that have not begun are null. */
function readDays(read: SnapshotReader, within: Within, today: LocalDate) {
  return read(sql<DayLevels & Counts>`
    select date, ${columns(...countNames, 'humanAnswerMedianSeconds')},
      case when date <= ${today} then open_at_end end as "openAtEnd",
      case when date <= ${today} then waiting_at_end end as "waitingAtEnd"
    from (${sql.raw(dayQuery)}) days where ${sql.raw(where(within, '', 'date', null))}
    order by date`)
}

/** By the day of the answer and the name on it. Those with the most messages come first. */
function readAgents(read: SnapshotReader, within: Within) {
  return read(sql<
    { readonly name: string; readonly messages: number; readonly conversations: number } & Durations
  >`
    select agent_name as name, messages, conversations, answers,
      answer_median_seconds as "medianSeconds", answer_p90_seconds as "p90Seconds"
    from (${sql.raw(periodTables.agents.rows(within))}) agents where messages > 0
    order by messages desc, agent_name`)
}

const noCalls = {
  calls: 0,
  callers: 0,
  withRecording: 0,
  withLength: 0,
  seconds: 0,
  medianSeconds: null,
}

async function readCalls(read: SnapshotReader, within: Within) {
  const [total] = await read(sql<
    Record<keyof typeof noCalls, number> & { medianSeconds: Seconds | null }
  >`
    select ${columns(...Object.keys(noCalls))} from (${sql.raw(periodTables.calls.total(within))})
    total`)
  return total ?? noCalls
}

/** `hours`: whose seconds count. */
export type TargetRow = Readonly<
  { name: string; hours: 'all' | 'business'; metShare: number | null } & Record<
    'targetSeconds' | 'waits' | 'met' | 'missed' | 'open' | 'without',
    number
  >
>

function readTargets(read: SnapshotReader, database: DatabaseKind, within: Within) {
  return read(sql<TargetRow>`
    select sla as name, ${columns('targetSeconds', 'hours', 'waits', 'met', 'missed', 'open', 'without', 'metShare')}
    from (${sql.raw(periodTables.targets.rows(within, sqlDialects[database]))}) targets
    order by sla`)
}

const parts = ['current', 'before'] as const
type Part = (typeof parts)[number]

const answerKinds = [
  { which: 'first', clock: 'human' },
  { which: 'first', clock: 'any' },
  { which: 'every', clock: 'human' },
  { which: 'every', clock: 'any' },
] as const
const hoursNames = ['all', 'business'] as const

/** One statement for all kinds, so that the waits are read once and sorted fast. */
async function readResponseTimes(
  read: SnapshotReader,
  { current, before }: Readonly<Record<Part, Within>>,
) {
  const arms = answerKinds.map(({ which, clock }, kind) => {
    const value = clock === 'human' ? 'human_seconds' : 'answer_seconds'
    const isFirst = `and not exists (select 1 from fct_wait e where e.project_id = w.project_id
        and e.conversation_id = w.conversation_id and e.wait_number < w.wait_number
        and e.${value} is not null)`
    return `select part, ${kind} as kind, ${value} as seconds, ${value.replace('_', '_business_')}
      as business_seconds
      from waits w where ${value} is not null ${which === 'first' ? isFirst : ''}`
  })
  const isCurrent = where(current, 'w.', 'started_date', null)
  const isBefore = where(before, 'w.', 'started_date', null)
  const seconds = `(select part, kind, seconds from answers union all
      select part, kind + ${answerKinds.length}, business_seconds from answers
      where business_seconds is not null) w`
  const query = percentilesOf({
    groups: { part: 'w.part', kind: 'w.kind' },
    value: 'w.seconds',
    from: seconds,
  })
  const rows = await read(sql<Durations & { readonly part: number; readonly kind: number }>`
    with waits as materialized (
      select w.project_id, w.conversation_id, w.wait_number, case when ${sql.raw(isCurrent)} then 0
      else 1 end as part,
        w.human_seconds, w.human_business_seconds, w.answer_seconds, w.answer_business_seconds
      from ${sql.raw(completeWaits)} where ${sql.raw(`(${isCurrent} or ${isBefore})`)}
    ), answers as materialized (${sql.raw(arms.join(' union all '))})
    select part, kind, values_counted as answers, median_value as "medianSeconds", p90_value
    as "p90Seconds"
    from (${sql.raw(query)}) counted`)
  return (part: Part): ResponseTimeRow[] =>
    answerKinds.flatMap((kind, n) =>
      hoursNames.map((hours, h) => {
        const number = n + h * answerKinds.length
        const found = rows.find((row) => row.kind === number && row.part === parts.indexOf(part))
        const { answers = 0, medianSeconds = null, p90Seconds = null } = found ?? {}
        return { ...kind, hours, answers, medianSeconds, p90Seconds }
      }),
    )
}
