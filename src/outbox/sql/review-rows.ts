/** Outbox in SQL: the rows of a batch, and what is ahead of them in their lanes. */
import { type RawBuilder, sql } from 'kysely'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import type { RowAhead } from '../core/review.ts'
import { laneBlockingStatuses } from '../core/state.ts'
import { parseRequest } from '../core/writeback-request.ts'
import {
  decodeEvidence,
  effectiveStatus,
  type OutboxRow,
  outboxColumns,
  toWriteback,
} from './row.ts'

/** A row of a batch. */
export type QueuedRow = {
  readonly seq: number
  /** Of the imported file, as its spreadsheet numbers it. */
  readonly sourceRow: number | null
  readonly writeback: Writeback
}

type RowWithSeq = OutboxRow & { seq: number; sourceRow: number | null }

async function selectRows(
  context: ProjectDb,
  which: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<readonly RowWithSeq[]> {
  const status = await effectiveStatus(context)
  const { rows } = await sql<RowWithSeq>`
    select seq, source_row as "sourceRow", ${status} as status, ${outboxColumns} from writebacks
    where project_id = ${context.project} and ${which} ${order}`.execute(context.db)
  return rows
}

/** All rows of the batch, whatever their status, in queue order. */
export async function listBatch(
  context: ProjectDb,
  batch: string,
  afterSeq: number,
  limit: number,
): Promise<readonly QueuedRow[]> {
  const which = sql`batch_id = ${batch} and seq > ${afterSeq}`
  const rows = await selectRows(context, which, sql`order by seq limit ${limit}`)
  return rows.map((row) => ({
    seq: row.seq,
    sourceRow: row.sourceRow,
    writeback: decodeRow(context, row),
  }))
}

const openSql = sql`status in (${sql.join(laneBlockingStatuses.map((status) => sql.lit(status)))})`

/**
 * Of these lanes, in queue order. `batch`: its open rows are left out; null: none are. Of it, what
 * has left, and the replies, on which later flags depend.
 */
export async function readAhead(
  context: ProjectDb,
  lanes: readonly string[],
  batch: string | null,
): Promise<readonly RowAhead[]> {
  if (lanes.length === 0) return []
  const isOther =
    batch === null ? sql`${openSql}` : sql`(${openSql} and batch_id is distinct from ${batch})`
  const isOwn =
    batch === null
      ? sql`false`
      : sql`(batch_id = ${batch} and status not in ('draft','queued')
    and (operation = 'message' or ${openSql}))`
  const which = sql`lane ${inList(context.kind, lanes)} and (${isOther} or ${isOwn})`
  const rows = await selectRows(context, which, sql`order by seq`)
  return rows.map((row) => {
    const { id, lane, status, rawRequest, batchId } = decodeRow(context, row)
    const result = parseRequest(rawRequest)
    const request = result.ok ? result.request : null
    return {
      id,
      lane,
      seq: row.seq,
      status,
      request,
      isSameBatch: batch !== null && batchId === batch,
    }
  })
}

function decodeRow({ kind }: ProjectDb, row: OutboxRow) {
  return toWriteback(kind, row, decodeEvidence(kind, row.evidence))
}
