/** The stored results of checks with the service, in SQL: written, read, and read beside what the row did. */
import { sql } from 'kysely'
import { z } from 'zod'
import { tryParseJson } from '../../core/json.ts'
import type { CheckedRow } from '../../core/outbox/deviation.ts'
import { type ReviewReason, reviewOutcomes, reviewReasons } from '../../core/outbox/review.ts'
import type { ReadCheck, StoredCheck } from '../../core/outbox/review-check.ts'
import { inList } from '../database/dialect.ts'
import { inDurableTransaction } from '../database/durable-transaction.ts'
import { decodeJson, decodeText, encodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { decodeEvidence, type OutboxRow, stateBefore } from './row.ts'

const value = z.union([z.boolean(), z.string(), z.null()])
const changesSchema = z.array(z.object({ field: z.enum(['handled', 'name', 'email']), old: value, new: value }))
const outcomeSchema = z.enum(reviewOutcomes)

type CheckRow = {
  id: string
  checkedEpoch: number
  outcome: string
  why: string | null
  would: string | null
  checkedAt: string
}

const checkColumns = sql`preview.epoch as "checkedEpoch", preview.outcome, preview.why, preview.would,
  preview.checked_at as "checkedAt"`

const joined = sql`writeback_previews preview join writebacks on writebacks.project_id = preview.project_id
  and writebacks.id = preview.writeback_id`

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

/** Null if another version of this program wrote something else. */
function toStoredCheck({ id, checkedEpoch: epoch, outcome, why, would, checkedAt }: CheckRow): StoredCheck | null {
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

export async function storeChecks(context: ProjectDb, checks: readonly StoredCheck[]): Promise<void> {
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
