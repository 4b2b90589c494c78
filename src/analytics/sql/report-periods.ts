/**
 * What a report counts and measures of its period and of the one before: each table is read once, for both. Medians are those
 * of all values of a period, never of medians of days.
 */
import { sql } from 'kysely'
import type { ProjectId } from '../../values/project.ts'
import type { LocalDate, Seconds } from '../../values/time.ts'
import type { SnapshotReader } from '../../warehouse/transactions.ts'
import type { DateRange, ReportPeriod } from '../core/report-period.ts'
import { periodTables } from '../views/all-period-pages.ts'
import { percentilesOf } from '../views/by-windows.ts'
import { answersByDay } from '../views/durations.ts'
import { completeWaits } from '../views/waits.ts'
import { quoted } from './read-period-table.ts'

export type PeriodData = Awaited<ReturnType<typeof readPeriods>>['current']

export type DayRow = {
  readonly date: LocalDate
  readonly started: number
  readonly waits: number
  readonly handlings: number
  readonly openAtEnd: number | null
  readonly waitingAtEnd: number | null
  readonly humanAnswerMedianSeconds: Seconds | null
}

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

const countIf = (condition: string) => `count(case when ${condition} then 1 end)`
const messagesOf = (role: string) => `coalesce(sum(case when role = '${role}' then messages end), 0)`

/** The current one is the part of the period that is over and read to its end, if there is one. */
export async function readPeriods(read: SnapshotReader, project: ProjectId, period: ReportPeriod) {
  const ranges = { current: period.whole ?? period, before: period.before }
  const all = { from: ranges.before.from, to: period.to }
  const dates = sql`between ${all.from} and ${all.to}`
  /** Numbers of each day, which sum up to those of a period. */
  const byDay = async <Name extends string>(table: string, date: string, of: Readonly<Record<Name, string>>) => {
    const list = Object.entries<string>(of).map(([name, expression]) => sql`${sql.raw(expression)} as ${sql.id(name)}`)
    const rows = await read(sql<Readonly<{ date: LocalDate } & Record<Name, number>>>`
      select ${sql.ref(date)} as date, ${sql.join(list)} from ${sql.table(table)}
      where project_id = ${project} and ${sql.ref(date)} ${dates} group by ${sql.ref(date)} order by ${sql.ref(date)}`)
    const sumOf = (range: DateRange) => {
      const days = rows.filter((day) => isWithin(day, range))
      const sums = Object.keys(of).map((name) => [name, days.reduce((sum, day) => sum + day[name as Name], 0)])
      return Object.fromEntries(sums) as Readonly<Record<Name, number>>
    }
    return { rows, sumOf }
  }
  /** Those created on each day, as they are now. */
  const conversations = await byDay('fct_conversation', 'created_date', {
    started: 'count(*)',
    incomplete: countIf('not is_complete'),
    aiOnly: countIf("answered_by = 'ai'"),
    humanAndAi: countIf("answered_by = 'human and ai'"),
  })
  /** By the day on which the visitors asked. The last four add up to `waits`. */
  const waits = await byDay('fct_wait', 'started_date', {
    waits: 'count(*)',
    answeredByHuman: countIf("ended_by = 'human'"),
    answeredByAi: countIf("ended_by = 'ai'"),
    closedWithoutAnswer: countIf("ended_by = 'handled'"),
    ongoingWaits: countIf("ended_by = 'nobody'"),
  })
  /** By the day on which they were written. */
  const messages = await byDay('fct_contribution', 'date', {
    visitorMessages: messagesOf('visitor'),
    humanMessages: messagesOf('human'),
    aiMessages: messagesOf('ai'),
  })
  const backlog = await byDay('report_backlog_day', 'date', {
    ...{ opened: 'max(opened)', reopenings: 'max(reopenings)', handlings: 'max(handlings)' },
    ...{ openAtEnd: 'max(open_at_end)', waitingAtEnd: 'max(waiting_at_end)' },
  })
  const medians = await read(sql<{ readonly date: LocalDate; readonly seconds: Seconds }>`
    select date, median_value as seconds from (${sql.raw(answersByDay('human_seconds'))}) answers
    where project_id = ${project} and date ${dates}`)
  const responseTimes = await readResponseTimes(read, project, ranges)
  const targets = await readTargets(read, project, ranges)
  const readPeriod = async (part: Part) => {
    const range = ranges[part]
    const { openAtEnd = null, waitingAtEnd = null } = backlog.rows.findLast((day) => isWithin(day, range)) ?? {}
    return {
      conversations: conversations.sumOf(range),
      waits: waits.sumOf(range),
      messages: messages.sumOf(range),
      responseTimes: responseTimes(part),
      /** At the end of the last day that has begun; null = the period has no such day. */
      backlog: { ...backlog.sumOf(range), openAtEnd, waitingAtEnd },
      agents: await readAgents(read, project, range),
      calls: await readCalls(read, project, range),
      targets: targets(part),
    }
  }
  const days = new Set([...conversations.rows, ...waits.rows, ...backlog.rows].map(({ date }) => date))
  return {
    current: await readPeriod('current'),
    before: await readPeriod('before'),
    /** Days with any number, in order. */
    days: [...days]
      .filter((date) => isWithin({ date }, period))
      .sort()
      .map((date): DayRow => {
        const of = <Row extends { readonly date: LocalDate }>(rows: readonly Row[]) =>
          rows.find((row) => row.date === date)
        const { handlings = 0, openAtEnd = null, waitingAtEnd = null } = of(backlog.rows) ?? {}
        return {
          ...{ date, handlings, openAtEnd, waitingAtEnd },
          ...{ started: of(conversations.rows)?.started ?? 0, waits: of(waits.rows)?.waits ?? 0 },
          humanAnswerMedianSeconds: of(medians)?.seconds ?? null,
        }
      }),
  }
}

function isWithin({ date }: { readonly date: LocalDate }, { from, to }: DateRange): boolean {
  return date >= from && date <= to
}

const parts = ['current', 'before'] as const
type Part = (typeof parts)[number]
type Ranges = Readonly<Record<Part, DateRange>>

/** The number of the period that a date is in. */
function partOf(date: string, ranges: Ranges): string {
  return `case ${parts.map((part, number) => `when ${date} ${between(ranges[part])} then ${number}`).join(' ')} end`
}

function withinParts(date: string, ranges: Ranges): string {
  return `(${parts.map((part) => `${date} ${between(ranges[part])}`).join(' or ')})`
}

/** `hours`: whose seconds count. */
export type TargetName = {
  readonly name: string
  readonly targetSeconds: Seconds
  readonly hours: 'all' | 'business'
}
export type TargetCounts = Readonly<Record<'waits' | 'met' | 'missed' | 'open' | 'without', number>>

async function readTargets(read: SnapshotReader, project: ProjectId, ranges: Ranges) {
  const rows = await read(sql<TargetName & TargetCounts & { readonly part: number }>`
    select ${sql.raw(partOf('date', ranges))} as part, sla as name, max(target_seconds) as "targetSeconds", max(hours) as hours, sum(waits) as waits,
      sum(met) as met, sum(missed) as missed, sum(open) as open, sum(without) as without
    from report_sla_day where project_id = ${project} and ${sql.raw(withinParts('date', ranges))} group by 1, sla order by sla`)
  return (wanted: Part) => rows.flatMap(({ part, ...row }) => (part === parts.indexOf(wanted) ? [row] : []))
}

const answerKinds = [
  { which: 'first', clock: 'human' },
  { which: 'first', clock: 'any' },
  { which: 'every', clock: 'human' },
  { which: 'every', clock: 'any' },
] as const
const hoursNames = ['all', 'business'] as const

/** One statement for all kinds, by their numbers, so that the waits are read once and sorted fast. A kind without values has no row. */
async function readResponseTimes(read: SnapshotReader, project: ProjectId, ranges: Ranges) {
  const arms = answerKinds.map(({ which, clock }, kind) => {
    const value = clock === 'human' ? 'human_seconds' : 'answer_seconds'
    const isFirst = `and not exists (select 1 from fct_wait e where e.project_id = w.project_id
        and e.conversation_id = w.conversation_id and e.wait_number < w.wait_number and e.${value} is not null)`
    return `select part, ${kind} as kind, ${value} as seconds, ${value.replace('_', '_business_')} as business_seconds
      from waits w where ${value} is not null ${which === 'first' ? isFirst : ''}`
  })
  const { project: name } = quoted(project, { ...ranges.current, agent: null })
  const seconds = `(select part, kind, seconds from answers union all
      select part, kind + ${answerKinds.length}, business_seconds from answers where business_seconds is not null) w`
  const query = percentilesOf({ groups: { part: 'w.part', kind: 'w.kind' }, value: 'w.seconds', from: seconds })
  const rows = await read(sql<Durations & { readonly part: number; readonly kind: number }>`
    with waits as materialized (
      select w.project_id, w.conversation_id, w.wait_number, ${sql.raw(partOf('w.started_date', ranges))} as part,
        w.human_seconds, w.human_business_seconds, w.answer_seconds, w.answer_business_seconds
      from ${sql.raw(completeWaits)} where w.project_id = ${sql.raw(name)} and ${sql.raw(withinParts('w.started_date', ranges))}
    ), answers as materialized (${sql.raw(arms.join(' union all '))})
    select part, kind, values_counted as answers, median_value as "medianSeconds", p90_value as "p90Seconds"
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

/** Answers count for the day on which they were given, and for the name on them. Those with the most messages come first. */
async function readAgents(read: SnapshotReader, project: ProjectId, range: DateRange) {
  const rows = periodTables.agents.rows(quoted(project, { ...range, agent: null }))
  return read(sql<{ readonly name: string; readonly messages: number; readonly conversations: number } & Durations>`
    select agent_name as name, messages, conversations, answers, answer_median_seconds as "medianSeconds",
      answer_p90_seconds as "p90Seconds"
    from (${sql.raw(rows)}) agents where messages > 0 order by messages desc, agent_name`)
}

/** Callers and lengths of days do not sum up to those of a period. */
async function readCalls(read: SnapshotReader, project: ProjectId, { from, to }: DateRange) {
  type Numbers = Readonly<Record<'calls' | 'callers' | 'withRecording' | 'withLength' | 'seconds', number>>
  const [numbers] = await read(sql<Numbers>`
    select count(*) as calls, count(distinct visitor_id) as callers, ${sql.raw(countIf('has_recording'))} as "withRecording",
      count(seconds) as "withLength", coalesce(sum(seconds), 0) as seconds
    from fct_call where project_id = ${project} and started_date between ${from} and ${to}`)
  if (numbers === undefined) throw new Error(`an aggregate of ${project} returned no row`)
  const lengths = `fct_call w where seconds is not null and started_date ${between({ from, to })}`
  const query = percentilesOf({ groups: { project_id: 'w.project_id' }, value: 'seconds', from: lengths })
  const [median] = await read(sql<{ readonly seconds: Seconds }>`
    select median_value as seconds from (${sql.raw(query)}) counted where project_id = ${project}`)
  return { ...numbers, medianSeconds: median?.seconds ?? null }
}

/** The dates are checked, because they are part of the text of a query. */
function between({ from, to }: DateRange): string {
  const wrong = [from, to].find((date) => !/^\d{4}-\d\d-\d\d$/.test(date))
  if (wrong !== undefined) throw new Error(`not a date: ${wrong}`)
  return `between '${from}' and '${to}'`
}
