/** The last seven days of a project that are over and read to their end, and the seven before them. */
import { sql } from 'kysely'
import { dateText, dayNumber, localDateAt } from '../../values/days.ts'
import { type EpochMs, type LocalDate, parseTime, type Seconds, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inSnapshot } from '../../warehouse/transactions.ts'
import { chooseReportPeriod } from '../core/report-period.ts'
import { percentilesOf } from '../views/by-windows.ts'
import { completeWaits } from '../views/waits.ts'

export type WeekData = NonNullable<Awaited<ReturnType<typeof readWeekData>>>

export type WeekDay = Readonly<
  { date: LocalDate } & Record<'started' | 'withAi' | 'aiOnly' | 'handlings', number> &
    Record<'openAtEnd' | 'waitingAtEnd' | 'medianSeconds', number | null>
>

/**
 * Null: no day has been read to its end yet. `firstDate`: of the oldest conversation. `mirroredFrom`: from then on changes
 * were watched.
 */
export function readWeekData({ db, kind, project }: ProjectDb, now: EpochMs) {
  return inSnapshot(db, kind, async (read) => {
    const [known] = await read(sql<Record<'timeZone' | 'since', string> & Record<'asOf' | 'firstDate', string | null>>`
      select time_zone as "timeZone", mirrored_since as since, as_of as "asOf",
        (select min(created_date) from fct_conversation where project_id = ${project}) as "firstDate"
      from dim_project where project_id = ${project} and time_zone is not null`)
    if (known === undefined || known.asOf === null) return null
    const localDateOf = (time: string) => localDateAt(parseTime(time) ?? 0, known.timeZone)
    const [today, readUntil] = [localDateOf(toTimestamp(now)), localDateOf(known.asOf)]
    const end = readUntil < today ? readUntil : today
    const period = chooseReportPeriod({ to: dateText(dayNumber(end) - 1) }, today, end)
    const dates = `between '${period.before.from}' and '${period.to}'`
    const is_current = `case when w.started_date >= '${period.from}' then 1 else 0 end`
    const from = `${completeWaits} where w.human_seconds is not null and w.started_date ${dates}`
    const groups = { project_id: 'w.project_id', is_current }
    const medians = percentilesOf({ groups, value: 'w.human_seconds', from })
    return {
      ...{ period, firstDate: known.firstDate, mirroredFrom: localDateOf(known.since) },
      days: await read(sql<WeekDay>`
        select date, started, coalesce(ai.conversations, 0) as "withAi", ai_only as "aiOnly", handlings,
          open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd", human_answer_median_seconds as "medianSeconds"
        from report_day
        left join (
          select created_date, count(*) as conversations from fct_conversation
          where project_id = ${project} and created_date ${sql.raw(dates)} and answered_by in ('ai', 'human and ai')
          group by created_date
        ) ai on ai.created_date = date
        where project_id = ${project} and date ${sql.raw(dates)} order by date`),
      /** Of all waits for a human, not of the medians of days. */
      medians: await read(sql<{ isCurrent: number; seconds: Seconds }>`
        select is_current as "isCurrent", median_value as seconds from (${sql.raw(medians)}) counted
        where project_id = ${project}`),
    }
  })
}
