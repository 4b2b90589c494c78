/** Applies people's decisions to write-backs in SQL: durable, logged per row, a few thousand rows per transaction. */
import { type RawBuilder, sql } from 'kysely'
import type { DecisionResult, OutboxFilter } from '../../core/outbox/admin.ts'
import {
  nextState,
  type OutboxDecision,
  toStoredState,
  type WritebackState,
  type WritebackStatus,
  writebackStates,
} from '../../core/outbox/state.ts'
import { targetKinds, toLaneName } from '../../core/outbox/writeback-request.ts'
import { allOf } from '../database/dialect.ts'
import { inDurableTransaction } from '../database/durable-transaction.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { applyCancellations, findWindowEnd, recordCancellation } from './cancellations.ts'
import { selectTargetSnapshot, toTimeValue } from './row.ts'

/** The reason in the event log. */
const decisionReasons: Readonly<Record<OutboxDecision, (by: string) => string>> = {
  approved: (by) => `approved by ${by}`,
  cancelled: (by) => `cancelled by ${by}`,
  retried: (by) => `queued again by ${by}`,
  arrived: (by) => `marked as arrived by ${by}`,
  lost: (by) => `marked as lost by ${by}`,
}

/** A person waits for the command, and the decision is in force already; the remaining rows are updated later. */
const applyForMs = 5500

export async function applyDecision(
  context: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  by: string,
): Promise<DecisionResult> {
  const { ids, batch = null } = filter
  if (decision === 'cancelled' && ids === undefined) return cancelAll(context, filter, by)
  // Rows that still await an earlier cancellation have an outdated status.
  await applyCancellations(context, Number.POSITIVE_INFINITY)
  const change = (trx: ProjectDb, among: RawBuilder<unknown>) => applyToRows(trx, decision, filter, by, among)
  if (ids !== undefined) {
    const moved = await inDurableTransaction(context, (trx) => change(trx, sql`project_id = ${trx.project}`))
    return { count: moved.length, ids: moved.slice(0, 1000) }
  }
  let [count, first, after] = [0, [] as readonly string[], 0]
  const upTo = Number.MAX_SAFE_INTEGER
  for (let end = 0; ; after = end) {
    const found = await findWindowEnd(context, { batch, after, upTo })
    if (found === null) return { count, ids: first }
    end = found
    const among = sql`seq > ${after} and seq <= ${end} and project_id || '' = ${context.project}`
    const moved = await inDurableTransaction(context, (trx) => change(trx, among))
    count += moved.length
    if (first.length < 1000) first = [...first, ...moved].slice(0, 1000)
  }
}

async function cancelAll(context: ProjectDb, filter: OutboxFilter, by: string): Promise<DecisionResult> {
  const { batch = null, orWithoutProject = false } = filter
  const isInFlight = sql`project_id = ${context.project} and status in ('sending','uncertain')`
  const result = await recordCancellation(context, { batch, orWithoutProject, by }, async (trx) => {
    await applyToRows(trx, 'cancelled', filter, by, isInFlight)
  })
  const isApplied = await applyCancellations(context, performance.now() + applyForMs)
  return isApplied ? result : { ...result, following: true }
}

/** Marks write-backs in flight so that they are not sent again. Queued ones stay as they are. */
export async function revokeSending(context: ProjectDb, by: string): Promise<void> {
  const among = sql`project_id = ${context.project} and status = 'sending' and revoked_as is null`
  await inDurableTransaction(context, (trx) => applyToRows(trx, 'cancelled', {}, by, among))
}

/**
 * Uses one statement, so that a row whose status changes concurrently is not missed. The epoch increases, so a process
 * that holds the claim can no longer send. A row in flight stays with the process that sent it.
 */
async function applyToRows(
  trx: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  by: string,
  among: RawBuilder<unknown>,
): Promise<readonly string[]> {
  const moves = writebackStates.flatMap((from) => {
    const to = nextState(from, decision)
    return to === null ? [] : [{ from, to }]
  })
  const target = decidedStatus[decision]
  if (!moves.some(({ to }) => toStoredState(to).status === target)) return []
  const changing = moves.filter(({ from, to }) => toStoredState(from).status !== toStoredState(to).status)
  const hasMoved = inStatesSql(changing.map(({ from }) => from))
  const why = decisionReasons[decision](by)
  const now = toTimeValue(trx)
  const text = (value: string | null) => trx.typed('text', value)
  const resetForRetry = sql`, evidence = null, expect = null, seen = ${selectTargetSnapshot(trx, 'writebacks')},
    expires_at = case when expires_at > ${now} then expires_at end`
  const { rows } = await sql<{ id: string; status: WritebackStatus }>`
    update writebacks set status = case when ${hasMoved} then ${target} else status end,
      revoked_as = case when ${hasMoved} then null else ${text(decision === 'cancelled' ? 'cancelled' : null)} end,
      step = case when ${hasMoved} or status = 'sending' then ${why} else step end,
      error = case when ${hasMoved} then ${text(target === 'failed' ? why : null)} else error end,
      finished_at = case when ${hasMoved} then ${target === 'queued' ? sql`null` : now} else finished_at end,
      epoch = epoch + case when ${hasMoved} then 1 else 0 end,
      owner = case when ${hasMoved} then null else owner end,
      lease_until = case when ${hasMoved} then null else lease_until end,
      due_at = case when ${hasMoved} then null else due_at end ${decision === 'retried' ? resetForRetry : sql``}
    where ${among} and ${inStatesSql(moves.map(({ from }) => from))} and ${filterSql(filter)}
      and ${decidableSql(decision, filter)} returning id, status`.execute(trx.db)
  return rows.filter(({ status }) => status === target).map(({ id }) => id)
}

/** The status that a decision leads to; a row in flight may keep its own. */
const decidedStatus: Readonly<Record<OutboxDecision, WritebackStatus>> = {
  approved: 'queued',
  cancelled: 'cancelled',
  retried: 'queued',
  arrived: 'succeeded',
  lost: 'failed',
}

/** A row in flight can be resolved only by its id, and only when no process waits for its response. */
function decidableSql(decision: OutboxDecision, { ids }: OutboxFilter): RawBuilder<unknown> {
  if (decision !== 'arrived' && decision !== 'lost') return sql`true`
  return ids === undefined ? sql`status <> 'sending'` : sql`(status <> 'sending' or owner is null)`
}

function inStatesSql(states: readonly WritebackState[]): RawBuilder<unknown> {
  const inStateSql = (state: WritebackState) => {
    const { status, revokedAs } = toStoredState(state)
    if (revokedAs !== null) return sql`(status || '' = ${status} and revoked_as = ${revokedAs})`
    const plainStatesSql = status === 'sending' || status === 'uncertain' ? sql`revoked_as is null` : sql`true`
    return sql`(status || '' = ${status} and ${plainStatesSql})`
  }
  return states.length === 0 ? sql`false` : sql`(${sql.join(states.map(inStateSql), sql` or `)})`
}

/** An SQL condition for the filter. `status`: the SQL expression to compare the status with. */
export function filterSql(
  { ids, batch, statuses, operations, target }: OutboxFilter,
  status: RawBuilder<unknown> = sql`status`,
): RawBuilder<unknown> {
  const oneOf = (column: RawBuilder<unknown>, values: readonly string[] | undefined) => {
    if (values === undefined) return null
    return values.length === 0 ? sql`false` : sql`${column} in (${sql.join(values)})`
  }
  return allOf([
    oneOf(sql`id`, ids),
    batch === undefined ? null : sql`batch_id = ${batch}`,
    oneOf(status, statuses),
    oneOf(sql`operation`, operations),
    oneOf(sql`lane`, target === undefined ? undefined : targetKinds.map((kind) => toLaneName(kind, target))),
  ])
}
