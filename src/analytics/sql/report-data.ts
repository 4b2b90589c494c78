/** What a report shows of a project, read from the tables and views for analysts. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { localDateAt } from '../../values/days.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type LocalDate, parseTime, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import { inSnapshot } from '../../warehouse/transactions.ts'
import type { ReportPeriod } from '../core/report-period.ts'
import { columns } from './read-period-table.ts'
import { readPeriods } from './report-periods.ts'
import { describeDifference, readOpenQueue, serviceDifference } from './waiting.ts'

export type ReportData = NonNullable<Awaited<ReturnType<typeof readReportData>>>

/** `weekday`: 1 = Monday … 7. */
export type HourRow = { readonly weekday: number; readonly hour: number; readonly waits: number }

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
    // Times are RFC 3339 text. `asOf`, `callsAsOf`: null if the rows are not mirrored, or not read to
    // the end yet.
    const [state] = await read(sql<
      Readonly<
        Record<'timeZone' | 'mirroredSince', string> &
          Record<'asOf' | 'callsAsOf', string | null> & { factsDue: number; isRebuilding: boolean }
      >
    >`
      select ${columns('timeZone', 'mirroredSince', 'asOf', 'callsAsOf', 'factsDue', 'isRebuilding')} from dim_project
      where ${ofProject} and time_zone is not null`)
    if (state === undefined) return null
    const localDateOf = (time: string | null) =>
      time === null ? '' : localDateAt(parseTime(time) ?? 0, state.timeZone)
    const today = localDateOf(toTimestamp(now))
    const readUntil = localDateOf(state.asOf)
    const period = choosePeriod(today, readUntil < today ? readUntil : today)
    const { from, to } = period.whole ?? period
    const dayLength = sql`${epochSeconds(kind, 'ends_at')} - ${epochSeconds(kind, 'starts_at')}`
    const [extent] = await read(sql<{
      firstDate: LocalDate | null
      firstCall: string | null
      limitedDays: number
    }>`
      select (select min(created_date) from fct_conversation where ${ofProject}) as "firstDate",
        (select min(occurred_at) from calls where ${ofProject}) as "firstCall",
        (select count(*) from dim_date where ${ofProject} and date between ${period.before.from}
        and ${period.to}
          and business_seconds < ${dayLength}) as "limitedDays"`)
    return {
      period,
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
      ...(await readPeriods(read, kind, project, period, today)),
      hours: await read(sql<HourRow>`
        select d.weekday, w.started_hour as hour, count(*) as waits from fct_wait w
        join dim_date d on d.project_id = w.project_id and d.date = w.started_date
        where w.project_id = ${project} and w.started_date between ${from} and ${to}
        group by d.weekday, w.started_hour order by d.weekday, w.started_hour`),
      queue: await readOpenQueue(read, project),
      serviceDifference:
        (await read(serviceDifference(project))).map((it) => describeDifference(it))[0] ?? null,
      quality: await read(sql<
        Readonly<Record<'what' | 'meaning', string> & Record<'all' | 'wrong', number>>
      >`
        select what, meaning, rows_all as "all", rows_wrong as wrong from report_quality
        where ${ofProject} and rows_wrong > 0 order by what`),
      streams: await read(sql<
        Readonly<
          { stream: string } & Record<'syncedAt' | 'skipped' | 'failed', string | null> &
            Record<'openGaps' | 'neverRead', number>
        >
      >`
        select ${columns('stream', 'syncedAt', 'skipped', 'failed', 'openGaps', 'neverRead')}
        from report_freshness
        where ${ofProject} order by stream`),
    }
  })
}
