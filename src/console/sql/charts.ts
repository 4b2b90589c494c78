/** The days of a project, for its charts. */
import { sql } from 'kysely'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/** A day's numbers for the charts, by the project's local date. Null: nothing to measure on that day. */
export type DayRow = {
  readonly date: string
  readonly visitorMessages: number
  /** Times that a visitor began to wait, by who ended it. */
  readonly answeredByHuman: number
  readonly answeredByAi: number
  readonly notAnswered: number
  /** Of the waits for a human. */
  readonly medianSeconds: number | null
  readonly p90Seconds: number | null
  readonly openAtEnd: number | null
  readonly waitingAtEnd: number | null
  readonly calls: number
}

/** The last days until today. Takes seconds in a large mirror. */
export async function readDays({ db, project, typed }: ProjectDb, from: string): Promise<readonly DayRow[]> {
  const { rows } = await sql<DayRow>`
    select date, visitor_messages as "visitorMessages", answered_by_human as "answeredByHuman",
      answered_by_ai as "answeredByAi", waits - answered_by_human - answered_by_ai as "notAnswered",
      human_answer_median_seconds as "medianSeconds", human_answer_p90_seconds as "p90Seconds",
      open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd", calls
    from report_day where project_id = ${project} and date >= ${typed('date', from)} order by date`.execute(db)
  return rows
}
