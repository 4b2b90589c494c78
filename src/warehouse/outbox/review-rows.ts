/** ReviewReader in SQL: the rows of a batch, and what is ahead of them in their lanes. */
import { type RawBuilder, sql } from 'kysely'
import type { RowAhead } from '../../core/outbox/review-lane.ts'
import type { QueuedRow, ReviewReader } from '../../core/outbox/review-reader.ts'
import { laneBlockingStatuses } from '../../core/outbox/state.ts'
import { parseRequest } from '../../core/outbox/writeback-request.ts'
import { inList } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { listChecked, readChecks, storeChecks } from './checks.ts'
import { effectiveStatus } from './open-decisions.ts'
import { readReviewFacts, readTargetStates } from './review-facts.ts'
import { decodeEvidence, type OutboxRow, toWriteback } from './row.ts'

export function createReviewReader(context: ProjectDb): ReviewReader {
  return {
    readFacts: readReviewFacts.bind(null, context),
    readTargets: readTargetStates.bind(null, context),
    readAhead: readAhead.bind(null, context),
    listBatch: listBatch.bind(null, context),
    readChecks: readChecks.bind(null, context),
    listChecked: listChecked.bind(null, context),
    storeChecks: storeChecks.bind(null, context),
  }
}

type RowWithSeq = OutboxRow & { seq: number }

async function selectRows(
  context: ProjectDb,
  which: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<readonly RowWithSeq[]> {
  const status = await effectiveStatus(context)
  const { rows } = await sql<RowWithSeq>`
    select id, seq, lane, operation, conversation_id, visitor_id, payload, ${status} as status, attempts, batch_id, expect,
      created_at, expires_at, seen, evidence, epoch, owner, revoked_as from writebacks
    where project_id = ${context.project} and ${which} ${order}`.execute(context.db)
  return rows
}

async function listBatch(
  context: ProjectDb,
  batch: string,
  afterSeq: number,
  limit: number,
): Promise<readonly QueuedRow[]> {
  const which = sql`batch_id = ${batch} and seq > ${afterSeq}`
  const rows = await selectRows(context, which, sql`order by seq limit ${limit}`)
  return rows.map((row) => ({ seq: row.seq, epoch: row.epoch, writeback: decodeRow(context, row) }))
}

const openSql = sql`status in (${sql.join(laneBlockingStatuses.map((status) => sql.lit(status)))})`

/** Of its own batch, what has left, and the replies, on which later flags depend. */
async function readAhead(
  context: ProjectDb,
  lanes: readonly string[],
  batch: string | null,
): Promise<readonly RowAhead[]> {
  if (lanes.length === 0) return []
  const isOther = batch === null ? sql`${openSql}` : sql`(${openSql} and batch_id is distinct from ${batch})`
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
    return { id, lane, seq: row.seq, status, request, isSameBatch: batch !== null && batchId === batch }
  })
}

/** With the stored epoch: nothing is claimed. */
function decodeRow({ kind }: ProjectDb, row: OutboxRow) {
  return toWriteback(kind, row, decodeEvidence(kind, row.evidence))
}
