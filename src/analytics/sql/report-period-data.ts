/** What a report counts and measures over some days: its medians are those of all values, never of medians of days. */
import { type RawBuilder, sql } from 'kysely'
import type { ProjectId } from '../../values/project.ts'
import type { LocalDate, Seconds } from '../../values/time.ts'
import type { SnapshotReader } from '../../warehouse/snapshot.ts'
import type { DateRange } from '../core/report-period.ts'
import { percentilesOf } from '../views/by-windows.ts'
import { completeWaits } from '../views/waits.ts'

export type PeriodData = {
  /** Those created in the period, as they are now. */
  readonly conversations: Counts<'started' | 'incomplete' | 'aiOnly' | 'humanAndAi'>
  /** By the day on which the visitors asked. The last four add up to `waits`. */
  readonly waits: Counts<'waits' | 'answeredByHuman' | 'answeredByAi' | 'closedWithoutAnswer' | 'ongoingWaits'>
  /** By the day on which they were written. */
  readonly messages: Counts<'visitorMessages' | 'humanMessages' | 'aiMessages'>
  readonly responseTimes: readonly ResponseTimeRow[]
  readonly backlog: Counts<'opened' | 'reopenings' | 'handlings'> & {
    /** At the end of the last day that has begun; null = the period has no such day. */
    readonly openAtEnd: number | null
    readonly waitingAtEnd: number | null
  }
  readonly agents: readonly AgentRow[]
  readonly calls: Counts<'calls' | 'callers' | 'withRecording' | 'withLength' | 'seconds'> & {
    readonly medianSeconds: Seconds | null
  }
  readonly targets: readonly TargetRow[]
}

type Counts<Name extends string> = { readonly [name in Name]: number }

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

type AgentRow = { readonly name: string; readonly messages: number; readonly conversations: number } & Durations

type TargetRow = {
  readonly name: string
  readonly targetSeconds: Seconds
} & Counts<'waits' | 'met' | 'missed' | 'open' | 'without'>

export async function readPeriodData(read: SnapshotReader, project: ProjectId, range: DateRange): Promise<PeriodData> {
  const readOne = async <Row>(query: RawBuilder<Row>): Promise<Row> => {
    const [row] = await read(query)
    if (row === undefined) throw new Error(`an aggregate of ${project} returned no row`)
    return row
  }
  return {
    conversations: await readOne(countConversations(project, range)),
    waits: await readOne(countWaits(project, range)),
    messages: await readOne(countMessages(project, range)),
    responseTimes: await readResponseTimes(read, project, range),
    backlog: summariseBacklog(await read(backlogByDay(project, range))),
    agents: await readAgents(read, project, range),
    calls: {
      ...(await readOne(countCalls(project, range))),
      medianSeconds: await readCallMedian(read, project, range),
    },
    targets: await read(targetsOf(project, range)),
  }
}

async function readResponseTimes(
  read: SnapshotReader,
  project: ProjectId,
  range: DateRange,
): Promise<ResponseTimeRow[]> {
  const rows: ResponseTimeRow[] = []
  for (const { value, ...kind } of responseTimeKinds) {
    const first = kind.which === 'first' ? ` and not ${hasEarlierAnswer(value)}` : ''
    const values = `${completeWaits} where w.${value} is not null and w.started_date ${between(range)}${first}`
    const [row = noDurations] = await read(percentiles(project, {}, `w.${value}`, values))
    rows.push({ ...kind, ...row })
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

/** Answers count for the day on which they were given, and for the name on them. */
async function readAgents(read: SnapshotReader, project: ProjectId, range: DateRange): Promise<AgentRow[]> {
  const values = `${completeWaits} where w.human_seconds is not null and w.human_answered_date ${between(range)}`
  const answers = await read(
    percentiles<{ name: string }>(project, { name: 'w.human_name' }, 'w.human_seconds', values),
  )
  const byName = new Map(answers.map(({ name, ...durations }) => [name, durations]))
  const agents = await read(contributionsByAgent(project, range))
  return agents.map((agent) => ({ ...agent, ...(byName.get(agent.name) ?? noDurations) }))
}

async function readCallMedian(read: SnapshotReader, project: ProjectId, range: DateRange): Promise<Seconds | null> {
  const values = `fct_call w where seconds is not null and started_date ${between(range)}`
  const [lengths] = await read(percentiles(project, {}, 'seconds', values))
  return lengths?.medianSeconds ?? null
}

const noDurations: Durations = { answers: 0, medianSeconds: null, p90Seconds: null }

const valueColumns = {
  'human all': 'human_seconds',
  'human business': 'human_business_seconds',
  'any all': 'answer_seconds',
  'any business': 'answer_business_seconds',
} as const

const responseTimeKinds = (['first', 'every'] as const).flatMap((which) =>
  (['human', 'any'] as const).flatMap((clock) =>
    (['all', 'business'] as const).map((hours) => ({ which, clock, hours, value: valueColumns[`${clock} ${hours}`] })),
  ),
)

/** Count, median and 90th percentile of all values together, or of each group. `from`: the rows `w`. */
function percentiles<Group = unknown>(
  project: ProjectId,
  groups: Readonly<Record<string, string>>,
  value: string,
  from: string,
) {
  const names = Object.keys(groups).map((name) => `${name}, `)
  const query = percentilesOf({ groups: { project_id: 'w.project_id', ...groups }, value, from })
  return sql<Durations & Group>`
    select ${sql.raw(names.join(''))}values_counted as answers, median_value as "medianSeconds",
      p90_value as "p90Seconds"
    from (${sql.raw(query)}) counted
    where project_id = ${project}`
}

/** The dates are checked, because they are part of the text of a query. */
function between({ from, to }: DateRange): string {
  return `between ${quote(from)} and ${quote(to)}`
}

function quote(date: LocalDate): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) throw new Error(`not a date: ${date}`)
  return `'${date}'`
}

const count = (condition: string) => sql.raw(`count(case when ${condition} then 1 end)`)

function countConversations(project: ProjectId, { from, to }: DateRange) {
  return sql<PeriodData['conversations']>`
    select count(*) as started, ${count('not is_complete')} as incomplete, ${count("answered_by = 'ai'")} as "aiOnly",
      ${count("answered_by = 'human and ai'")} as "humanAndAi"
    from fct_conversation
    where project_id = ${project} and created_date between ${from} and ${to}`
}

function countWaits(project: ProjectId, { from, to }: DateRange) {
  return sql<PeriodData['waits']>`
    select count(*) as waits,
      ${count("ended_by = 'human'")} as "answeredByHuman", ${count("ended_by = 'ai'")} as "answeredByAi",
      ${count("ended_by = 'handled'")} as "closedWithoutAnswer", ${count("ended_by = 'nobody'")} as "ongoingWaits"
    from fct_wait
    where project_id = ${project} and started_date between ${from} and ${to}`
}

function countMessages(project: ProjectId, { from, to }: DateRange) {
  const sum = (role: string) => sql.raw(`coalesce(sum(case when role = '${role}' then messages end), 0)`)
  return sql<PeriodData['messages']>`
    select ${sum('visitor')} as "visitorMessages", ${sum('human')} as "humanMessages", ${sum('ai')} as "aiMessages"
    from fct_contribution
    where project_id = ${project} and date between ${from} and ${to}`
}

type BacklogDay = Counts<'opened' | 'reopenings' | 'handlings' | 'openAtEnd' | 'waitingAtEnd'>

function backlogByDay(project: ProjectId, { from, to }: DateRange) {
  return sql<BacklogDay>`
    select opened, reopenings, handlings, open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd"
    from report_backlog_day
    where project_id = ${project} and date between ${from} and ${to}
    order by date`
}

function summariseBacklog(days: readonly BacklogDay[]): PeriodData['backlog'] {
  const sum = (name: 'opened' | 'reopenings' | 'handlings') => days.reduce((total, day) => total + day[name], 0)
  const { openAtEnd = null, waitingAtEnd = null } = days.at(-1) ?? {}
  const changes = { opened: sum('opened'), reopenings: sum('reopenings'), handlings: sum('handlings') }
  return { ...changes, openAtEnd, waitingAtEnd }
}

function contributionsByAgent(project: ProjectId, { from, to }: DateRange) {
  return sql<Pick<AgentRow, 'name' | 'messages' | 'conversations'>>`
    select name, sum(messages) as messages, count(distinct conversation_id) as conversations
    from fct_contribution
    where project_id = ${project} and role = 'human' and date between ${from} and ${to}
    group by name
    order by sum(messages) desc, name`
}

function countCalls(project: ProjectId, { from, to }: DateRange) {
  return sql<Omit<PeriodData['calls'], 'medianSeconds'>>`
    select count(*) as calls, count(distinct visitor_id) as callers, ${count('has_recording')} as "withRecording",
      count(seconds) as "withLength", coalesce(sum(seconds), 0) as seconds
    from fct_call
    where project_id = ${project} and started_date between ${from} and ${to}`
}

function targetsOf(project: ProjectId, { from, to }: DateRange) {
  return sql<TargetRow>`
    select sla as name, max(target_seconds) as "targetSeconds", sum(waits) as waits, sum(met) as met,
      sum(missed) as missed, sum(open) as open, sum(without) as without
    from report_sla_day
    where project_id = ${project} and date between ${from} and ${to}
    group by sla
    order by sla`
}
