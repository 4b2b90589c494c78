/** Groups write-backs by why they have their status. */
import { sql } from 'kysely'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import type { ReasonGroup } from '../../core/outbox/group-reasons.ts'
import { collectReasons } from '../../core/outbox/group-reasons.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { filterSql } from './filter.ts'
import { effectiveStatus } from './open-decisions.ts'

/** What did not succeed, and what waits for another attempt. */
export async function groupReasons(context: ProjectDb, filter: OutboxFilter): Promise<readonly ReasonGroup[]> {
  const { db, kind, project } = context
  const status = await effectiveStatus(context)
  const { rows } = await sql<{ status: WritebackStatus; reason: string; count: number; example: string }>`
    select ${status} as status, coalesce(error, step, '') as reason, count(*) as count, min(id) as example from writebacks
    where project_id = ${project} and ${filterSql(kind, filter, status)}
      and (status in ('failed','conflict','uncertain','expired','cancelled')
        or (status in ('queued','sending') and step is not null))
    group by 1, 2 order by min(id)`.execute(db)
  return collectReasons(rows)
}
