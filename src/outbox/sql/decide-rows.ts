/** The statement that applies a decision to rows: which allow it, and what it changes in them. */
import { type RawBuilder, sql } from 'kysely'
import type { EpochMs } from '../../values/time.ts'
import { allOf } from '../../warehouse/dialect.ts'
import { encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { DecisionTerms, OutboxFilter } from '../core/admin.ts'
import { decisionOf, type OutboxDecision } from '../core/decisions.ts'
import { nextState, toStoredState, type WritebackState, type WritebackStatus, writebackStates } from '../core/state.ts'
import { correctedStep } from './enqueue.ts'
import { filterSql } from './entries.ts'
import { inStoppedBatchSql } from './open-decisions.ts'
import { decidedSql, selectTargetSnapshot, toTimeValue } from './row.ts'

type RowDecision = {
  readonly decision: OutboxDecision
  readonly filter: OutboxFilter
  readonly terms: DecisionTerms
  /** A further condition, which keeps the statement to a part of the queue. */
  readonly among: RawBuilder<unknown>
  /** No person decided. */
  readonly isBySetting?: boolean
}

export type DecidedRow = { readonly id: string; readonly batchId: string | null }

/**
 * Uses one statement, so that a row whose status changes concurrently is not missed. The epoch increases, so a process
 * that holds the claim can no longer send. A row in flight stays with the process that sent it.
 */
export async function applyToRows(trx: ProjectDb, step: RowDecision): Promise<readonly DecidedRow[]> {
  const { decision, filter, terms, among, isBySetting = false } = step
  const moves = writebackStates.flatMap((from) => {
    const to = nextState(from, decision)
    return to === null ? [] : [{ from, to }]
  })
  const { to: target, logged } = decisionOf(decision)
  const changing = moves.filter(({ from, to }) => toStoredState(from).status !== toStoredState(to).status)
  const hasMoved = inStatesSql(changing.map(({ from }) => from))
  const why = `${logged} by ${terms.by}`
  const now = toTimeValue(trx)
  const text = (value: string | null) => trx.typed('text', value)
  const dueAt = trx.typed('integer', decision === 'approved' ? graceEnd(trx.clock(), terms) : null)
  const { rows } = await sql<DecidedRow & { status: WritebackStatus }>`
    update writebacks set status = case when ${hasMoved} then ${target} else status end,
      revoked_as = case when ${hasMoved} then null else ${text(decision === 'cancelled' ? 'cancelled' : null)} end,
      step = case when ${hasMoved} or status = 'sending' then ${why} else step end,
      error = case when ${hasMoved} then ${text(target === 'failed' ? why : null)} else error end,
      finished_at = case when ${hasMoved} then ${isOpen(target) ? sql`null` : now} else finished_at end,
      epoch = epoch + case when ${hasMoved} then 1 else 0 end,
      owner = case when ${hasMoved} then null else owner end,
      lease_until = case when ${hasMoved} then null else lease_until end,
      stopped_by = case when ${hasMoved} then null else stopped_by end,
      due_at = case when ${hasMoved} then ${dueAt} else due_at end
      ${isBySetting ? sql`` : sql`, ${decidedSql(trx, terms.by)}`} ${changesOf(trx, decision, terms.by, dueAt)}
    where ${among} and ${inStatesSql(moves.map(({ from }) => from))} and ${filterSql(trx.kind, filter)}
      and ${decidableSql(trx, step)} returning id, batch_id as "batchId", status`.execute(trx.db)
  return rows.filter(({ status }) => status === target)
}

function isOpen(status: WritebackStatus): boolean {
  return status === 'queued' || status === 'draft'
}

function graceEnd(now: EpochMs, { graceMs = 0 }: DecisionTerms): EpochMs | null {
  return graceMs > 0 ? now + graceMs : null
}

/** What a decision changes beside the state. */
function changesOf(
  trx: ProjectDb,
  decision: OutboxDecision,
  by: string,
  dueAt: RawBuilder<unknown>,
): RawBuilder<unknown> {
  switch (decision) {
    case 'approved':
      return sql`, approved_by = ${by}, undo_until = ${dueAt}`
    case 'approval_undone':
      return sql`, approved_by = null, undo_until = null`
    case 'retried':
      return sql`, evidence = null, expect = null, seen = ${selectTargetSnapshot(trx, 'writebacks')},
        expires_at = case when expires_at > ${toTimeValue(trx)} then expires_at end`
    default:
      return sql``
  }
}

/** What a decision requires of a row beside its state. */
function decidableSql(trx: ProjectDb, { decision, filter, terms }: RowDecision): RawBuilder<unknown> {
  switch (decision) {
    case 'approved':
      return allOf([sql`not ${inStoppedBatchSql}`, terms.approveOwn === false ? notQueuedBySql(trx, terms.by) : null])
    case 'approval_undone':
      // A corrected row keeps the sends of the one that it replaced, without their time.
      return sql`undo_until > ${trx.clock()} and (attempts = 0 or sent_at is null)`
    case 'retried':
      return allOf([
        sql`not ${inStoppedBatchSql} and erased_at is null`,
        // Else a draft of one's own, cancelled and queued again, would need nobody's approval.
        terms.approveOwn === false ? sql`(approved_by is not null or not ${beganAsDraftSql})` : null,
      ])
    case 'arrived':
    case 'lost':
      // A row in flight can be resolved only by its id, and only when no process waits for its response.
      return filter.ids === undefined ? sql`status <> 'sending'` : sql`(status <> 'sending' or owner is null)`
    case 'cancelled':
      return sql`true`
  }
}

/**
 * In any case of letters: one types a name, and the system knows a user by another spelling. A row that was inserted by
 * another user of the database is `NAME via USER`.
 */
function notQueuedBySql({ kind, typed }: ProjectDb, person: string): RawBuilder<unknown> {
  const name = encodeText(kind, person)
  const lower = (text: string) => sql`lower(${typed('text', text)})`
  const isVia = sql`substr(lower(created_by), 1, length(${lower(`${name} via `)})) = ${lower(`${name} via `)}`
  return sql`(created_by is null or (lower(created_by) <> ${lower(name)} and not ${isVia}))`
}

/** As it was queued, or as its last correction was. */
const beganAsDraftSql = sql`(select began.to_status from writeback_events began
  where began.project_id = writebacks.project_id and began.writeback_id = writebacks.id
    and (began.from_status is null or began.detail = ${sql.lit(correctedStep)})
  order by began.seq desc limit 1) = 'draft'`

function inStatesSql(states: readonly WritebackState[]): RawBuilder<unknown> {
  const inStateSql = (state: WritebackState) => {
    const { status, revokedAs, isStopped } = toStoredState(state)
    if (revokedAs !== null) return sql`(status || '' = ${status} and revoked_as = ${revokedAs})`
    if (status === 'draft')
      return sql`(status || '' = ${status} and stopped_by is ${isStopped ? sql`not null` : sql`null`})`
    const plainStatesSql = status === 'sending' || status === 'uncertain' ? sql`revoked_as is null` : sql`true`
    return sql`(status || '' = ${status} and ${plainStatesSql})`
  }
  return states.length === 0 ? sql`false` : sql`(${sql.join(states.map(inStateSql), sql` or `)})`
}
