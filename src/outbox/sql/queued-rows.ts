/** Outbox in SQL: the rows of a batch, and what is ahead of them in their lanes. */
import { type RawBuilder, sql } from 'kysely'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import { laneBlockingStatuses } from '../core/state.ts'
import { effectiveStatus, type OutboxRow, outboxColumns, statusesSql, toWriteback } from './row.ts'

async function selectRows(
  context: ProjectDb,
  which: RawBuilder<unknown>,
): Promise<readonly Writeback[]> {
  const status = await effectiveStatus(context)
  const { rows } = await sql<OutboxRow>`select ${status} as status, ${outboxColumns} from writebacks
    where project_id = ${context.project} and ${which}`.execute(context.db)
  return rows.map((row) => toWriteback(context.kind, row))
}

/** All rows of the batch, whatever their status, in queue order. */
export function listBatch(context: ProjectDb, batch: string, afterSeq: number, limit: number) {
  return selectRows(
    context,
    sql`batch_id = ${batch} and seq > ${afterSeq} order by seq limit ${limit}`,
  )
}

const openSql = sql`status in (${statusesSql(laneBlockingStatuses)})`

/** Of these lanes. `batch`: of it only what has left, and the replies, on which flags depend. */
export async function readAhead(
  context: ProjectDb,
  lanes: readonly string[],
  batch: string | null,
): Promise<readonly Writeback[]> {
  if (lanes.length === 0) return []
  const which =
    batch === null
      ? openSql
      : sql`((${openSql} and batch_id is distinct from ${batch})
          or (batch_id = ${batch} and status not in ('draft','queued') and (operation = 'message'
          or ${openSql})))`
  return selectRows(context, sql`lane ${inList(context.kind, lanes)} and ${which} order by seq`)
}
