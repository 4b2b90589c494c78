/** The numbers of the charts, from the views for analysts. */
import { sql } from 'kysely'
import type { DayRow } from '../../core/console/data.ts'
import type { ProjectDb } from '../database/project-db.ts'

/** The last days until today, by the project's local date. Takes seconds in a large mirror. */
export async function readDays({ db, project, typed }: ProjectDb, from: string): Promise<readonly DayRow[]> {
  const { rows } = await sql<DayRow>`
    select date, visitor_messages as "visitorMessages", answered_by_human as "answeredByHuman",
      answered_by_ai as "answeredByAi", waits - answered_by_human - answered_by_ai as "notAnswered",
      human_answer_median_seconds as "medianSeconds", human_answer_p90_seconds as "p90Seconds",
      open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd", calls
    from report_day where project_id = ${project} and date >= ${typed('date', from)} order by date`.execute(db)
  return rows
}
