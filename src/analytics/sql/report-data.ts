/**
 * What a report shows of a project, read from the tables and views for analysts. Its medians are those of all values of
 * the period, never of medians of days.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { localDateAt } from '../../values/days.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type LocalDate, parseTime, type Seconds, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import { inSnapshot, type SnapshotReader } from '../../warehouse/transactions.ts'
import type { DateRange, ReportPeriod } from '../core/report-period.ts'
import { percentilesOf } from '../views/by-windows.ts'
import { periodTables } from '../views/period-pages.ts'
import { completeWaits } from '../views/waits.ts'
import { quoted } from './read-period-table.ts'
import { describeDifference, readOpenQueue, serviceDifference } from './waiting.ts'

export type ReportData = NonNullable<Awaited<ReturnType<typeof readReportData>>>
export type PeriodData = Awaited<ReturnType<typeof readPeriodData>>

/**
 * From `dim_project`. Times are RFC 3339 text; that up to which conversations and messages, or calls, are complete is null
 * if they are not mirrored, or not read to the end yet.
 */
type ReportProject = Readonly<
  Record<'timeZone' | 'mirroredSince', string> &
    Record<'asOf' | 'callsAsOf', string | null> & { factsDue: number; isRebuilding: boolean }
>

export type DayRow = {
  readonly date: LocalDate
  readonly started: number
  readonly waits: number
  readonly handlings: number
  readonly openAtEnd: number | null
  readonly waitingAtEnd: number | null
  readonly humanAnswerMedianSeconds: Seconds | null
}

/** `weekday`: 1 = Monday … 7. */
export type HourRow = { readonly weekday: number; readonly hour: number; readonly waits: number }

/** A number of the service's daily rollup over the period. */
export type RollupRow = {
  readonly metric: string
  /** The number of ours that it is; null = none is. */
  readonly definition: string | null
  readonly equal: number
  readonly different: number
  readonly notFinal: number
  readonly notCompared: number
  /** Of the days that are different; null = there are none. Sums would mislead: some numbers are medians. */
  readonly largestDifference: number | null
}

type QualityRow = Readonly<Record<'what' | 'meaning', string> & Record<'all' | 'wrong', number>>
type StreamRow = Readonly<
  { stream: string } & Record<'syncedAt' | 'skipped' | 'failed', string | null> &
    Record<'openGaps' | 'neverRead', number>
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

const noDurations: Durations = { answers: 0, medianSeconds: null, p90Seconds: null }

/** Columns under their names in camel case: `open_at_end` is `openAtEnd`. */
const columns = (names: string) =>
  sql.join(
    names.split(' ').map((name) => {
      const alias = name.replace(/^\w\./, '').replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      return sql`${sql.ref(name)} as ${sql.id(alias)}`
    }),
  )

/** Null: no facts of the project have been derived yet. All numbers are of one moment. */
export function readReportData(
  db: Db,
  kind: DatabaseKind,
  project: ProjectId,
  now: EpochMs,
  choosePeriod: (today: LocalDate, wholeUntil: LocalDate) => ReportPeriod,
) {
  return inSnapshot(db, kind, async (read) => {
    const ofProject = sql`project_id = ${project}`
    const [state] = await read(sql<ReportProject>`
      select ${columns('time_zone mirrored_since as_of calls_as_of facts_due is_rebuilding')} from dim_project
      where ${ofProject} and time_zone is not null`)
    if (state === undefined) return null
    const localDateOf = (time: string | null) =>
      time === null ? '' : localDateAt(parseTime(time) ?? 0, state.timeZone)
    const today = localDateOf(toTimestamp(now))
    const readUntil = localDateOf(state.asOf)
    const period = choosePeriod(today, readUntil < today ? readUntil : today)
    const within = sql`between ${period.from} and ${period.to}`
    const dayLength = sql`${epochSeconds(kind, 'ends_at')} - ${epochSeconds(kind, 'starts_at')}`
    const [extent] = await read(sql<{ firstDate: LocalDate | null; firstCall: string | null; limitedDays: number }>`
      select (select min(created_date) from fct_conversation where ${ofProject}) as "firstDate",
        (select min(occurred_at) from calls where ${ofProject}) as "firstCall",
        (select count(*) from dim_date where ${ofProject} and date between ${period.before.from} and ${period.to}
          and business_seconds < ${dayLength}) as "limitedDays"`)
    const daysOf = (result: string) => sql`count(case when result = ${sql.lit(result)} then 1 end)`
    return {
      period,
      /** The present local day. */
      today,
      project: { ...state, isRebuilding: Boolean(state.isRebuilding) },
      /** Day of the oldest conversation; null = there is none. */
      firstDate: extent?.firstDate ?? null,
      /** Of the oldest call; '' = there is none. */
      firstCallDate: localDateOf(extent?.firstCall ?? null),
      /** The days from which on changes were watched, so that reopenings are known. */
      mirroredFrom: localDateOf(state.mirroredSince),
      /** On some day of both periods, business is closed for a while. */
      hasBusinessHours: (extent?.limitedDays ?? 0) > 0,
      current: await readPeriodData(read, project, period.whole ?? period),
      before: await readPeriodData(read, project, period.before),
      /** Days with any number, in order. */
      days: await read(sql<DayRow>`
        select ${columns('date started waits handlings open_at_end waiting_at_end human_answer_median_seconds')}
        from report_day where ${ofProject} and date ${within} order by date`),
      hours: await read(sql<HourRow>`
        select d.weekday, w.started_hour as hour, count(*) as waits from fct_wait w
        join dim_date d on d.project_id = w.project_id and d.date = w.started_date
        where w.project_id = ${project} and w.started_date ${within}
        group by d.weekday, w.started_hour order by d.weekday, w.started_hour`),
      queue: await readOpenQueue(read, project),
      serviceDifference: (await read(serviceDifference(project))).map(describeDifference)[0] ?? null,
      rollup: await read(sql<RollupRow>`
        select metric, max(definition) as definition, ${daysOf('equal')} as equal, ${daysOf('different')} as different,
          ${daysOf('not final')} as "notFinal", ${daysOf('not compared')} as "notCompared",
          max(case when result = 'different' then abs(difference) end) as "largestDifference"
        from report_rollup_day where ${ofProject} and date ${within} group by metric order by metric`),
      quality: await read(sql<QualityRow>`
        select what, meaning, rows_all as "all", rows_wrong as wrong from report_quality
        where ${ofProject} and rows_wrong > 0 order by what`),
      streams: await read(sql<StreamRow>`
        select ${columns('stream synced_at skipped failed open_gaps never_read')} from report_freshness
        where ${ofProject} order by stream`),
    }
  })
}

const countIf = (condition: string) => `count(case when ${condition} then 1 end)`
const messagesOf = (role: string) => `coalesce(sum(case when role = '${role}' then messages end), 0)`

/** What is counted and measured over some days. */
async function readPeriodData(read: SnapshotReader, project: ProjectId, range: DateRange) {
  const dates = sql`between ${range.from} and ${range.to}`
  /** Numbers of the rows of a table that are dated within the range. */
  const numbersOf = async <Name extends string>(table: string, date: string, of: Readonly<Record<Name, string>>) => {
    const list = Object.entries<string>(of).map(([name, expression]) => sql`${sql.raw(expression)} as ${sql.id(name)}`)
    const [row] = await read(sql<{ readonly [N in Name]: number }>`
      select ${sql.join(list)} from ${sql.table(table)} where project_id = ${project} and ${sql.ref(date)} ${dates}`)
    if (row === undefined) throw new Error(`an aggregate of ${project} returned no row`)
    return row
  }
  const backlog = await read(sql<Record<'opened' | 'reopenings' | 'handlings' | 'openAtEnd' | 'waitingAtEnd', number>>`
    select ${columns('opened reopenings handlings open_at_end waiting_at_end')} from report_backlog_day
    where project_id = ${project} and date ${dates} order by date`)
  const sumOf = (name: 'opened' | 'reopenings' | 'handlings') => backlog.reduce((sum, day) => sum + day[name], 0)
  const { openAtEnd = null, waitingAtEnd = null } = backlog.at(-1) ?? {}
  const callLengths = `fct_call w where seconds is not null and started_date ${between(range)}`
  const [calls] = await read(percentiles(project, {}, 'seconds', callLengths))
  return {
    /** Those created in the period, as they are now. */
    conversations: await numbersOf('fct_conversation', 'created_date', {
      started: 'count(*)',
      incomplete: countIf('not is_complete'),
      aiOnly: countIf("answered_by = 'ai'"),
      humanAndAi: countIf("answered_by = 'human and ai'"),
    }),
    /** By the day on which the visitors asked. The last four add up to `waits`. */
    waits: await numbersOf('fct_wait', 'started_date', {
      waits: 'count(*)',
      answeredByHuman: countIf("ended_by = 'human'"),
      answeredByAi: countIf("ended_by = 'ai'"),
      closedWithoutAnswer: countIf("ended_by = 'handled'"),
      ongoingWaits: countIf("ended_by = 'nobody'"),
    }),
    /** By the day on which they were written. */
    messages: await numbersOf('fct_contribution', 'date', {
      visitorMessages: messagesOf('visitor'),
      humanMessages: messagesOf('human'),
      aiMessages: messagesOf('ai'),
    }),
    responseTimes: await readResponseTimes(read, project, range),
    backlog: {
      ...{ opened: sumOf('opened'), reopenings: sumOf('reopenings'), handlings: sumOf('handlings') },
      /** At the end of the last day that has begun; null = the period has no such day. */
      ...{ openAtEnd, waitingAtEnd },
    },
    agents: await readAgents(read, project, range),
    calls: {
      ...(await numbersOf('fct_call', 'started_date', {
        calls: 'count(*)',
        callers: 'count(distinct visitor_id)',
        withRecording: countIf('has_recording'),
        withLength: 'count(seconds)',
        seconds: 'coalesce(sum(seconds), 0)',
      })),
      medianSeconds: calls?.medianSeconds ?? null,
    },
    targets: await read(sql<TargetName & TargetCounts>`
      select sla as name, max(target_seconds) as "targetSeconds", max(hours) as hours, sum(waits) as waits, sum(met) as met,
        sum(missed) as missed, sum(open) as open, sum(without) as without
      from report_sla_day where project_id = ${project} and date ${dates} group by sla order by sla`),
  }
}

/** `hours`: whose seconds count. */
export type TargetName = {
  readonly name: string
  readonly targetSeconds: Seconds
  readonly hours: 'all' | 'business'
}
export type TargetCounts = Readonly<Record<'waits' | 'met' | 'missed' | 'open' | 'without', number>>

const valueColumns = { human: 'human', any: 'answer', all: 'seconds', business: 'business_seconds' } as const

async function readResponseTimes(read: SnapshotReader, project: ProjectId, range: DateRange) {
  const rows: ResponseTimeRow[] = []
  for (const which of ['first', 'every'] as const)
    for (const clock of ['human', 'any'] as const)
      for (const hours of ['all', 'business'] as const) {
        const value = `${valueColumns[clock]}_${valueColumns[hours]}`
        const isFirst = which === 'first' ? ` and not ${hasEarlierAnswer(value)}` : ''
        const from = `${completeWaits} where w.${value} is not null and w.started_date ${between(range)}${isFirst}`
        const [row = noDurations] = await read(percentiles(project, {}, `w.${value}`, from))
        rows.push({ which, clock, hours, ...row })
      }
  return rows
}

/** Whether an earlier wait of the conversation has such an answer, too. */
function hasEarlierAnswer(value: string): string {
  return `exists (
      select 1 from fct_wait e
      where e.project_id = w.project_id and e.conversation_id = w.conversation_id
        and e.wait_number < w.wait_number and e.${value} is not null)`
}

/** Answers count for the day on which they were given, and for the name on them. Those with the most messages come first. */
async function readAgents(read: SnapshotReader, project: ProjectId, range: DateRange) {
  const rows = periodTables.agents.rows(quoted(project, { ...range, agent: null }))
  return read(sql<{ readonly name: string; readonly messages: number; readonly conversations: number } & Durations>`
    select agent_name as name, messages, conversations, answers, answer_median_seconds as "medianSeconds",
      answer_p90_seconds as "p90Seconds"
    from (${sql.raw(rows)}) agents where messages > 0 order by messages desc, agent_name`)
}

/** Count, median and 90th percentile of all values together, or of each group. `from`: the rows `w`. */
function percentiles<Group = unknown>(
  ...[project, groups, value, from]: [ProjectId, Readonly<Record<string, string>>, string, string]
) {
  const names = Object.keys(groups).map((name) => `${name}, `)
  const query = percentilesOf({ groups: { project_id: 'w.project_id', ...groups }, value, from })
  return sql<Durations & Group>`
    select ${sql.raw(names.join(''))}values_counted as answers, median_value as "medianSeconds", p90_value as "p90Seconds"
    from (${sql.raw(query)}) counted where project_id = ${project}`
}

/** The dates are checked, because they are part of the text of a query. */
function between({ from, to }: DateRange): string {
  const wrong = [from, to].find((date) => !/^\d{4}-\d\d-\d\d$/.test(date))
  if (wrong !== undefined) throw new Error(`not a date: ${wrong}`)
  return `between '${from}' and '${to}'`
}
