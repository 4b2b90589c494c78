/** ReviewReader in SQL: the rows of a batch, what is ahead of them in their lanes, and the stored results of checks. */
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { tryParseJson } from '../../core/json.ts'
import { type ReviewReason, reviewOutcomes, reviewReasons } from '../../core/outbox/review.ts'
import type { RowAhead } from '../../core/outbox/review-lane.ts'
import type { QueuedRow, ReviewReader, StoredCheck } from '../../core/outbox/review-reader.ts'
import { laneBlockingStatuses } from '../../core/outbox/state.ts'
import { parseRequest } from '../../core/outbox/writeback-request.ts'
import { inList } from '../database/dialect.ts'
import { inDurableTransaction } from '../database/durable-transaction.ts'
import { decodeText, encodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { effectiveStatus } from './follow-decisions.ts'
import { readReviewFacts, readTargetStates } from './review-facts.ts'
import { decodeEvidence, type OutboxRow, toWriteback } from './row.ts'

export function createReviewReader(context: ProjectDb): ReviewReader {
  return {
    readFacts: readReviewFacts.bind(null, context),
    readTargets: readTargetStates.bind(null, context),
    readAhead: readAhead.bind(null, context),
    listBatch: listBatch.bind(null, context),
    readChecks: readChecks.bind(null, context),
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

const value = z.union([z.boolean(), z.string(), z.null()])
const changesSchema = z.array(z.object({ field: z.enum(['handled', 'name', 'email']), old: value, new: value }))
const outcomeSchema = z.enum(reviewOutcomes)

type CheckRow = {
  id: string
  epoch: number
  outcome: string
  why: string | null
  would: string | null
  checkedAt: string
}

/** Only results for the row as it is now. */
async function readChecks({ db, kind, project }: ProjectDb, ids: readonly string[]): Promise<readonly StoredCheck[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<CheckRow>`
    select writeback_id as id, preview.epoch, outcome, why, would, checked_at as "checkedAt"
    from writeback_previews preview join writebacks on writebacks.project_id = preview.project_id
      and writebacks.id = preview.writeback_id and writebacks.epoch = preview.epoch
    where preview.project_id = ${project} and preview.writeback_id ${inList(kind, ids)}`.execute(db)
  return rows.flatMap((row) => toStoredCheck(row) ?? [])
}

/** Null if another version of this program wrote something else. */
function toStoredCheck({ id, epoch, outcome, why, would, checkedAt }: CheckRow): StoredCheck | null {
  const decoded: unknown = would === null ? {} : tryParseJson(decodeText(would))
  const parsed = z
    .object({ outcome: outcomeSchema, reason: z.string().nullish(), changes: changesSchema.default([]) })
    .safeParse({ ...(typeof decoded === 'object' ? decoded : {}), outcome })
  if (!parsed.success) return null
  const { reason = null, changes } = parsed.data
  const text = why === null ? null : decodeText(why)
  return {
    id,
    epoch,
    outcome: parsed.data.outcome,
    reason: isReason(reason) ? reason : null,
    why: text,
    changes,
    checkedAt,
  }
}

function isReason(name: string | null): name is ReviewReason {
  return name !== null && name in reviewReasons
}

async function storeChecks(context: ProjectDb, checks: readonly StoredCheck[]): Promise<void> {
  if (checks.length === 0) return
  const { kind, project, typed } = context
  const text = (plain: string | null) => typed('text', plain === null ? null : encodeText(kind, plain))
  const rows = checks.map(({ id, epoch, outcome, reason, why, changes, checkedAt }) => {
    const would = JSON.stringify({ reason, changes })
    return sql`(${project}, ${id}, ${typed('integer', epoch)}, ${outcome}, ${text(why)}, ${text(would)}, ${typed('time', checkedAt)})`
  })
  await inDurableTransaction(context, ({ db }) =>
    sql`insert into writeback_previews (project_id, writeback_id, epoch, outcome, why, would, checked_at)
      values ${sql.join(rows)} on conflict (project_id, writeback_id) do update set epoch = excluded.epoch,
        outcome = excluded.outcome, why = excluded.why, would = excluded.would, checked_at = excluded.checked_at`.execute(
      db,
    ),
  )
}
