/** What a report shows of a project, read from the tables and views for analysts. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { localDateAt } from '../../values/days.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs, LocalDate, Seconds } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import { inSnapshot, type SnapshotReader } from '../../warehouse/snapshot.ts'
import type { DateRange, ReportPeriod } from '../core/report-period.ts'
import { type PeriodData, readPeriodData } from './report-period-data.ts'

export type ReportData = {
  readonly period: ReportPeriod
  /** The present local day. */
  readonly today: LocalDate
  readonly project: ReportProject
  /** Day of the oldest conversation; null = there is none. */
  readonly firstDate: LocalDate | null
  /** On some day of both periods, business is closed for a while. */
  readonly hasBusinessHours: boolean
  readonly current: PeriodData
  readonly before: PeriodData
  /** Days with any number, in order. */
  readonly days: readonly DayRow[]
  readonly hours: readonly HourRow[]
  readonly queue: OpenQueue
  readonly rollup: readonly RollupRow[]
  readonly quality: readonly QualityRow[]
  readonly streams: readonly StreamRow[]
}

/** From `dim_project`. Times are RFC 3339 text. */
type ReportProject = {
  readonly timeZone: string
  readonly mirroredSince: string
  /** Conversations and messages are complete up to this time; null = not read to the end yet. */
  readonly asOf: string | null
  /** Null: not mirrored, or not read to the end yet. */
  readonly callsAsOf: string | null
  readonly factsDue: number
  readonly isRebuilding: boolean
}

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

/** Null: no facts of the project have been derived yet. All numbers are of one moment. */
export function readReportData(
  db: Db,
  kind: DatabaseKind,
  project: ProjectId,
  now: EpochMs,
  choosePeriod: (today: LocalDate) => ReportPeriod,
): Promise<ReportData | null> {
  return inSnapshot(db, kind, async (read) => {
    const state = await readProject(read, project)
    if (state === null) return null
    const today = localDateAt(Math.floor(now / 1000), state.timeZone)
    const period = choosePeriod(today)
    const both: DateRange = { from: period.before.from, to: period.to }
    return {
      period,
      today,
      project: state,
      ...(await readExtent(read, kind, project, both)),
      current: await readPeriodData(read, project, period),
      before: await readPeriodData(read, project, period.before),
      days: await readDays(read, project, period),
      hours: await readHours(read, project, period),
      queue: await readQueue(read, project),
      rollup: await readRollup(read, project, period),
      quality: await readQuality(read, project),
      streams: await readStreams(read, project),
    }
  })
}

async function readProject(read: SnapshotReader, project: ProjectId): Promise<ReportProject | null> {
  const [row] = await read(sql<ReportProject>`
    select time_zone as "timeZone", mirrored_since as "mirroredSince", as_of as "asOf", calls_as_of as "callsAsOf",
      facts_due as "factsDue", is_rebuilding as "isRebuilding"
    from dim_project
    where project_id = ${project} and time_zone is not null`)
  return row === undefined ? null : { ...row, isRebuilding: Boolean(row.isRebuilding) }
}

async function readExtent(read: SnapshotReader, kind: DatabaseKind, project: ProjectId, { from, to }: DateRange) {
  const dayLength = sql`${epochSeconds(kind, 'ends_at')} - ${epochSeconds(kind, 'starts_at')}`
  const [row] = await read(sql<{ firstDate: LocalDate | null; limitedDays: number }>`
    select
    (select min(created_date) from fct_conversation where project_id = ${project}) as "firstDate",
    (select count(*) from dim_date where project_id = ${project} and date between ${from} and ${to}
      and business_seconds < ${dayLength}) as "limitedDays"`)
  return { firstDate: row?.firstDate ?? null, hasBusinessHours: (row?.limitedDays ?? 0) > 0 }
}

function readDays(read: SnapshotReader, project: ProjectId, { from, to }: DateRange): Promise<DayRow[]> {
  return read(sql<DayRow>`
    select date, started, waits, handlings, open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd",
      human_answer_median_seconds as "humanAnswerMedianSeconds"
    from report_day
    where project_id = ${project} and date between ${from} and ${to}
    order by date`)
}

function readHours(read: SnapshotReader, project: ProjectId, { from, to }: DateRange): Promise<HourRow[]> {
  return read(sql<HourRow>`
    select d.weekday, w.started_hour as hour, count(*) as waits
    from fct_wait w
    join dim_date d on d.project_id = w.project_id and d.date = w.started_date
    where w.project_id = ${project} and w.started_date between ${from} and ${to}
    group by d.weekday, w.started_hour
    order by d.weekday, w.started_hour`)
}

function readRollup(read: SnapshotReader, project: ProjectId, { from, to }: DateRange): Promise<RollupRow[]> {
  const days = (result: string) => sql`count(case when result = ${sql.lit(result)} then 1 end)`
  return read(sql<RollupRow>`
    select metric, max(definition) as definition,
      ${days('equal')} as equal, ${days('different')} as different, ${days('not final')} as "notFinal",
      ${days('not compared')} as "notCompared",
      max(case when result = 'different' then abs(difference) end) as "largestDifference"
    from report_rollup_day
    where project_id = ${project} and date between ${from} and ${to}
    group by metric
    order by metric`)
}

/** Now, whatever the period. */
export type OpenQueue = {
  readonly open: number
  readonly waiting: number
  /** Those who wait longest, at most `maxWaiting`. */
  readonly longest: readonly {
    readonly conversationId: string
    /** Null: not known, or the settings leave it out. */
    readonly visitorName: string | null
    /** Likely name of the assigned agent, or else the id. */
    readonly agent: string | null
    readonly waitingSince: string
    readonly waitingSeconds: Seconds
  }[]
}

type QualityRow = {
  readonly what: string
  readonly meaning: string
  readonly all: number
  readonly wrong: number
}

export type StreamRow = {
  readonly stream: string
  readonly syncedAt: string | null
  readonly skipped: string | null
  readonly failed: string | null
  readonly openGaps: number
  readonly neverRead: number
}

const maxWaiting = 10

async function readQueue(read: SnapshotReader, project: ProjectId): Promise<OpenQueue> {
  const [counts] = await read(sql<Pick<OpenQueue, 'open' | 'waiting'>>`
    select count(*) as open, count(waiting_since) as waiting
    from report_open
    where project_id = ${project}`)
  const longest = await read(sql<OpenQueue['longest'][number]>`
    select o.conversation_id as "conversationId", o.visitor_name as "visitorName",
      coalesce(a.likely_name, o.assigned_agent_id) as agent, o.waiting_since as "waitingSince",
      o.waiting_seconds as "waitingSeconds"
    from report_open o
    left join dim_agent a on a.project_id = o.project_id and a.agent_id = o.assigned_agent_id
    where o.project_id = ${project} and o.waiting_since is not null
    order by o.waiting_since, o.conversation_id
    limit ${sql.lit(maxWaiting)}`)
  return { open: counts?.open ?? 0, waiting: counts?.waiting ?? 0, longest }
}

function readQuality(read: SnapshotReader, project: ProjectId): Promise<QualityRow[]> {
  return read(sql<QualityRow>`
    select what, meaning, rows_all as "all", rows_wrong as wrong
    from report_quality
    where project_id = ${project} and rows_wrong > 0
    order by what`)
}

function readStreams(read: SnapshotReader, project: ProjectId): Promise<StreamRow[]> {
  return read(sql<StreamRow>`
    select stream, synced_at as "syncedAt", skipped, failed, open_gaps as "openGaps", never_read as "neverRead"
    from report_freshness
    where project_id = ${project}
    order by stream`)
}
