/** What the overview of a project says. */

import { sql } from 'kysely'
import { isDerived } from '../../analytics/sql/facts-state.ts'
import { waitingCounted } from '../../analytics/sql/waiting.ts'
import { readBudget } from '../../service/sql/request-counts.ts'
import { type EpochMs, minuteMs } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { listRuns } from './runs.ts'

/** What the overview says beside the state of the project, by indexes. */
export async function readOverview(context: ProjectDb, now: EpochMs) {
  const { db, project } = context
  const { rows } = await sql<{ gaps: number; open: number; waiting: number; since: string | null }>`
    select
      (select count(*) from sync_gaps where project_id = ${project} and resolved_at is null)
      as gaps,
      (select count(*) from fct_conversation where is_open and project_id = ${project}) as open,
      (select count(*) from ${waitingCounted} and project_id = ${project}) as waiting,
      (select min(waiting_since) from ${waitingCounted} and project_id = ${project})
      as since`.execute(db)
  const { gaps = 0, open = 0, waiting = 0, since = null } = rows[0] ?? {}
  return {
    gaps: Number(gaps),
    open: Number(open),
    /** `isDerived`: who waits is known of all conversations. */
    waiting: { count: Number(waiting), since, isDerived: await isDerived(context) },
    runs: await listRuns(context, null, null, 5),
    budget: await readBudget(context, now - 60 * minuteMs, now, minuteMs),
  }
}
