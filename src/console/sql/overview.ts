/** What the overview of a project says. */

import { sql } from 'kysely'
import { isDerived } from '../../analytics/sql/facts-state.ts'
import { waitingCounted } from '../../analytics/sql/waiting.ts'
import { readProjectIncidents } from '../../maintenance/sql/projects.ts'
import { countBlockedLanes } from '../../maintenance/sql/status.ts'
import { listFailures } from '../../maintenance/sql/workers.ts'
import { readAuditEstimates } from '../../mirror/sql/mirror-state.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { readBudget } from '../../service/sql/request-counts.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { listRuns } from './runs.ts'

/** Rows are counted up to this number: more would take longer, and nobody needs the number. */
export const countLimit = 1000

const minuteMs: Ms = 60_000

/** What the overview says beside the streams: numbers up to a limit, each by an index. */
export async function readOverview(context: ProjectDb, now: EpochMs) {
  const { db, project } = context
  const failures = await listFailures(db, project)
  const { rows } = await sql<{ gaps: number; waiting: number; since: string | null }>`
    select
      (select count(*) from (select 1 from sync_gaps
        where project_id = ${project} and resolved_at is null limit ${countLimit + 1}) as found) as gaps,
      (select count(*) from (select 1 from ${waitingCounted} and project_id = ${project}
        limit ${countLimit + 1}) as found) as waiting,
      (select min(waiting_since) from ${waitingCounted} and project_id = ${project}) as since`.execute(db)
  const { gaps = 0, waiting = 0, since = null } = rows[0] ?? {}
  return {
    gaps: Number(gaps),
    /** What the audits of the last 30 days show. */
    audits: await readAuditEstimates(context, now),
    ...(await readProjectIncidents(db, project, now)),
    failures,
    writebacks: await createOutbox(context).countByStatus({}),
    heldLanes: Number(await countBlockedLanes(db, project)),
    /** `isDerived`: who waits is known of all conversations. */
    waiting: { count: Number(waiting), since, isDerived: await isDerived(context) },
    runs: await listRuns(context, null, null, 5),
    budget: await readBudget(context, now - 60 * minuteMs, now, minuteMs),
  }
}
