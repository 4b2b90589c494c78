/** Outbox in SQL: the rows of a batch, what is ahead of them in their lanes, and stored results of checks. */
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { tryParseJson } from '../../values/json.ts'
import { inList } from '../../warehouse/dialect.ts'
import { decodeJson, decodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import { fieldNames } from '../core/field-kinds.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import { type ReviewReason, type RowAhead, reviewOutcomes, reviewReasons } from '../core/review.ts'
import type { CheckedRow, ReadCheck, StoredCheck } from '../core/review-summary.ts'
import { laneBlockingStatuses } from '../core/state.ts'
import { parseRequest } from '../core/writeback-request.ts'
import {
  decodeEvidence,
  effectiveStatus,
  type OutboxRow,
  outboxColumns,
  stateBefore,
  textOrNull,
  textParameter,
  toWriteback,
} from './row.ts'

/** A row of a batch. */
export type QueuedRow = {
  readonly seq: number
  readonly epoch: number
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
    epoch: row.epoch,
    sourceRow: row.sourceRow,
    writeback: decodeRow(context, row),
  }))
}

const openSql = sql`status in (${sql.join(laneBlockingStatuses.map((status) => sql.lit(status)))})`

/** Of these lanes, in queue order. `batch`: its open rows are left out; null: none are. Of it, what has left, and the replies, on which later flags depend. */
export async function readAhead(
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
const changesSchema = z.array(z.object({ field: z.enum(fieldNames), old: value, new: value }))

type CheckRow = Pick<StoredCheck, 'id' | 'why' | 'checkedAt'> & {
  checkedEpoch: number
  outcome: string
  would: string | null
}

const checkColumns = sql`preview.epoch as "checkedEpoch", preview.outcome, preview.why, preview.would,
  preview.checked_at as "checkedAt"`

const joined = sql`writeback_previews preview join writebacks on writebacks.project_id = preview.project_id
  and writebacks.id = preview.writeback_id`

/** The last one of each row that was checked. */
export async function readChecks(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
): Promise<readonly ReadCheck[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<CheckRow & { epoch: number }>`
    select writebacks.id, writebacks.epoch, ${checkColumns} from ${joined}
    where preview.project_id = ${project} and preview.writeback_id ${inList(kind, ids)}`.execute(db)
  return rows.flatMap((row) => {
    const check = toStoredCheck(row)
    return check === null ? [] : [{ ...check, isVoid: row.epoch !== row.checkedEpoch }]
  })
}

/** Of a batch, the checked rows that were sent or refused, in queue order. */
export async function listChecked(
  { db, kind, project }: ProjectDb,
  batch: string,
  afterSeq: number,
  limit: number,
): Promise<readonly CheckedRow[]> {
  const { rows } = await sql<
    CheckRow & Pick<OutboxRow, 'operation' | 'payload' | 'status' | 'evidence'> & { seq: number }
  >`
    select writebacks.id, seq, operation, payload, status, evidence, ${checkColumns} from ${joined}
    where writebacks.project_id = ${project} and batch_id = ${batch} and seq > ${afterSeq}
      and status in ('succeeded','failed','conflict','expired') order by seq limit ${limit}`.execute(db)
  return rows.flatMap((row) => {
    const check = toStoredCheck(row)
    if (check === null) return []
    const { id, seq, operation, status } = row
    const payload: Record<string, unknown> = JSON.parse(decodeJson(kind, row.payload))
    return [{ id, seq, operation, payload, status, before: stateBefore(decodeEvidence(kind, row.evidence)), check }]
  })
}

const reasonSchema = z.enum(Object.keys(reviewReasons) as ReviewReason[])
const checkSchema = z.object({
  outcome: z.enum(reviewOutcomes),
  reason: reasonSchema.nullable().catch(null).default(null),
  changes: changesSchema.default([]),
})

/** Null if another version of this program wrote something else. */
function toStoredCheck({ id, checkedEpoch: epoch, outcome, why, would, checkedAt }: CheckRow): StoredCheck | null {
  const decoded: unknown = would === null ? {} : tryParseJson(decodeText(would))
  const parsed = checkSchema.safeParse({ ...(typeof decoded === 'object' ? decoded : {}), outcome })
  return parsed.success ? { id, epoch, why: textOrNull(why), checkedAt, ...parsed.data } : null
}

/** Replaces earlier results. */
export async function storeChecks(context: ProjectDb, checks: readonly StoredCheck[]): Promise<void> {
  if (checks.length === 0) return
  const { project, typed } = context
  const rows = checks.map(({ id, epoch, outcome, reason, why, changes, checkedAt }) => {
    const would = JSON.stringify({ reason, changes })
    return sql`(${project}, ${id}, ${typed('integer', epoch)}, ${outcome}, ${textParameter(context, why)},
      ${textParameter(context, would)}, ${typed('time', checkedAt)})`
  })
  await inDurableTransaction(context, ({ db }) =>
    sql`insert into writeback_previews (project_id, writeback_id, epoch, outcome, why, would, checked_at)
      values ${sql.join(rows)} on conflict (project_id, writeback_id) do update set epoch = excluded.epoch,
        outcome = excluded.outcome, why = excluded.why, would = excluded.would, checked_at = excluded.checked_at`.execute(
      db,
    ),
  )
}
