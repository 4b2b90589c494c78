/** What the overview says beside the streams: numbers up to a limit, each by an index. */
import { sql } from 'kysely'
import { estimateDifferences, pooledMs } from '../../core/audit.ts'
import { countLimit, type OverviewData } from '../../core/console/data.ts'
import type { EpochMs } from '../../core/time.ts'
import { toTimestamp } from '../../core/time.ts'
import { listFinishedAudits } from '../audits.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { listFailures } from '../job-failures.ts'
import { readProjectIncidents } from '../projects.ts'
import { countBlockedLanes, countWritebacks } from '../status.ts'
import { listRuns } from './runs.ts'

export type StoredOverview = Omit<OverviewData, 'streams' | 'budget' | 'workers'>

export async function readOverview(context: ProjectDb, now: EpochMs): Promise<StoredOverview> {
  const { db, project } = context
  const failures = await listFailures(db, project)
  const { paused, held } = await readProjectIncidents(db, project, now)
  const { rows } = await sql<{ gaps: number; waiting: number; since: string | null; draft: string | null }>`
    select
      (select count(*) from (select 1 from sync_gaps
        where project_id = ${project} and resolved_at is null limit ${countLimit + 1}) as found) as gaps,
      (select count(*) from (select 1 from conversations
        where project_id = ${project} and ${isWaiting} limit ${countLimit + 1}) as found) as waiting,
      (select min(waiting_since) from conversations where project_id = ${project} and ${isWaiting}) as since,
      (select min(created_at) from writebacks where project_id = ${project} and status = 'draft') as draft`.execute(db)
  const { gaps = 0, waiting = 0, since = null, draft = null } = rows[0] ?? {}
  return {
    gaps: Number(gaps),
    audits: estimateDifferences(await listFinishedAudits(context, now - pooledMs), now),
    paused,
    held,
    failures: failures.map(({ key, ...failure }) => ({
      ...failure,
      subject: key,
      since: toTimestamp(failure.since),
      lastAt: toTimestamp(failure.lastAt),
    })),
    writebacks: await countWritebacks(context),
    oldestDraft: draft,
    heldLanes: Number(await countBlockedLanes(db, project)),
    waiting: { count: Number(waiting), since },
    runs: await listRuns(context, null, null, 5),
  }
}

/** The condition of the index `conversations_waiting`. */
export const isWaiting = sql`waiting_since is not null and handled_at is null and deleted_at is null`
