/**
 * OutboxRepository in SQL. Claims are compare-and-set, so only one of several processes succeeds. Two counters are fencing
 * tokens: the column `epoch` that of a claim, `attempts` that of a send.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Evidence, OutboxRepository, SendOutcome, Transition, Writeback } from '../../core/outbox/repository.ts'
import {
  fromStoredState,
  nextState,
  type Revocation,
  toStoredState,
  type WritebackStatus,
} from '../../core/outbox/state.ts'
import { hasExpired } from '../../core/outbox/writeback-request.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { typedParameter } from '../database/dialect.ts'
import { inDurableTransaction, retryOnDeadlock } from '../database/durable-transaction.ts'
import { readBehaviours, recordBehaviours } from '../mirror/learned-behaviours.ts'
import {
  acquireCancellationLock,
  applyCancellations,
  coveredByCancelSql,
  hasOpenCancellation,
} from './cancellations.ts'
import { currentOwner } from './claim-owner.ts'
import { claimableSql, findClaimable, findDeadOwners, hasPending, nextInLaneSql } from './claimable.ts'
import { createLaneHistory } from './lane-history.ts'
import {
  decodeEvidence,
  encodeEvidence,
  type OutboxContext,
  type OutboxRow,
  operationSql,
  senderState,
  toTimeValue,
  toWriteback,
} from './row.ts'

/** Duration of a claim; longer than any work under it, apart from waiting for the rate limit. */
const leaseMs: Ms = 120_000

/** Pending cancellations are applied before new claims, for at most this long at a time. */
const applyForMs: Ms = 500

export function createOutboxRepository(context: OutboxContext): OutboxRepository {
  const owner = currentOwner()
  return {
    findClaimable: async (now, limit, filter) =>
      (await applyCancellations(context, performance.now() + applyForMs))
        ? findClaimable(context, now, limit, filter)
        : [],
    hasPending: async (filter) => (await hasOpenCancellation(context)) || (await hasPending(context, filter)),
    claim: (id, now) => claim(context, id, owner, now),
    markSending: (writeback, evidence, now, dueAt) => markSending(context, writeback, owner, evidence, now, dueAt),
    settleSent: (writeback, transition) =>
      settle(context, writeback, transition, sql`attempts = ${writeback.attempts + 1} and ${acceptsSendResult}`),
    settle: (writeback, transition) =>
      settle(context, writeback, transition, sql`epoch = ${writeback.fencingToken} and status = ${writeback.status}`),
    release: (writeback, dueAt, evidence) => release(context, writeback, dueAt, evidence),
    recordMessageId: (writeback, messageId) => recordMessageId(context, writeback, messageId),
    ...createLaneHistory(context),
    listRecentOutcomes: (limit) => listRecentOutcomes(context, limit),
    readBehaviours: () => readBehaviours(context),
    recordBehaviours: (behaviours) =>
      inDurableTransaction(context.db, context.kind, (trx) => recordBehaviours(context, trx, behaviours)),
  }
}

/** Statuses that accept the outcome of a send; the row may have been changed by SQL while it was in flight. */
const acceptsSendResult = sql`status in ('sending','uncertain','queued','cancelled','expired')`

/** Serialises decisions in a lane, so that concurrent ones see each other. */
async function lockLane(context: OutboxContext, trx: Db, lane: RawBuilder<unknown>): Promise<void> {
  if (context.kind === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtext(${context.project} || ${lane}))`.execute(trx)
}

async function claim(context: OutboxContext, id: string, owner: string, now: EpochMs): Promise<Writeback | null> {
  const claimable = claimableSql(now, await findDeadOwners(context))
  return inDurableTransaction(context.db, context.kind, async (trx) => {
    const lock = context.kind === 'postgres' ? sql`for update` : sql``
    await lockLane(
      context,
      trx,
      sql`(select lane from writebacks where project_id = ${context.project} and id = ${id})`,
    )
    const { rows } = await sql<OutboxRow>`
      select id, lane, operation, conversation_id, visitor_id, payload, status, attempts, batch_id, expect, created_at,
        expires_at, seen, evidence, epoch, owner, revoked_as from writebacks
      where project_id = ${context.project} and id = ${id} and ${claimable} and not (status = 'queued' and ${coveredByCancelSql}) ${lock}`.execute(
      trx,
    )
    const row = rows[0]
    if (row === undefined) return null
    const evidence = { ...decodeEvidence(context.kind, row.evidence), ...senderState(context.kind, row) }
    await sql`
      update writebacks set owner = ${owner}, lease_until = ${typedParameter(context.kind, 'integer', now + leaseMs)},
        epoch = epoch + 1, evidence = ${encodeEvidence(context.kind, evidence)}
      where project_id = ${context.project} and id = ${id}`.execute(trx)
    return toWriteback(context.kind, row, evidence)
  })
}

function markSending(
  context: OutboxContext,
  writeback: Writeback,
  owner: string,
  evidence: Evidence,
  now: EpochMs,
  dueAt: EpochMs,
): Promise<boolean> {
  const { sender: _, looks: __, claim: ___, ...rest } = { ...writeback.evidence, ...evidence }
  return inDurableTransaction(context.db, context.kind, async (trx) => {
    await lockLane(context, trx, typedParameter(context.kind, 'text', writeback.lane))
    await acquireCancellationLock(context, trx, 'shared')
    // Checked after every wait: for the rate limit, the lane and the row.
    if (await isExpired(context, trx, writeback, now)) return false
    const { numAffectedRows } = await sql`
      update writebacks set status = 'sending', attempts = attempts + 1, sent_at = ${toTimeValue(context, now)}, finished_at = null,
        error = null, revoked_as = null, step = 'about to be sent', evidence = ${encodeEvidence(context.kind, rest)},
        lease_until = ${typedParameter(context.kind, 'integer', now + leaseMs)}, due_at = ${typedParameter(context.kind, 'integer', dueAt)}
      where project_id = ${context.project} and id = ${writeback.id} and status = 'queued' and epoch = ${writeback.fencingToken}
        and owner = ${owner} and attempts = ${writeback.attempts} and ${nextInLaneSql}
        and not ${coveredByCancelSql}`.execute(trx)
    return numAffectedRows === 1n
  })
}

/** Reads the row and the clock again, as both may have changed. */
async function isExpired(context: OutboxContext, trx: Db, { id }: Writeback, now: EpochMs): Promise<boolean> {
  const lock = context.kind === 'postgres' ? sql`for update` : sql``
  const { rows } = await sql<{ expires: string | null }>`
    select expires_at as expires from writebacks where project_id = ${context.project} and id = ${id} ${lock}`.execute(
    trx,
  )
  return hasExpired(rows[0]?.expires ?? null, Math.max(now, context.clock()))
}

/** These do not change without a person. */
const finalStatuses: readonly WritebackStatus[] = [
  'succeeded',
  'failed',
  'conflict',
  'uncertain',
  'cancelled',
  'expired',
]

/** `ownership`: the condition under which this process may still change the row. */
function settle(
  context: OutboxContext,
  writeback: Writeback,
  transition: Transition,
  ownership: RawBuilder<unknown>,
): Promise<WritebackStatus | null> {
  return inDurableTransaction(context.db, context.kind, async (trx) => {
    const lock = context.kind === 'postgres' ? sql`for update` : sql``
    const { rows } = await sql<{ status: WritebackStatus; revoked: Revocation | null; evidence: string | null }>`
      select status, revoked_as as revoked, evidence from writebacks where project_id = ${context.project} and id = ${writeback.id} and ${ownership} ${lock}`.execute(
      trx,
    )
    const row = rows[0]
    const state = row === undefined ? null : nextState(fromStoredState(row.status, row.revoked), transition.event)
    if (row === undefined || state === null) return null
    const { status: to, revokedAs } = toStoredState(state)
    const evidence = withoutMessageIds(to, { ...decodeEvidence(context.kind, row.evidence), ...transition.evidence })
    const isFinished = finalStatuses.includes(to)
    const finishedAt = isFinished ? toTimeValue(context) : sql`null`
    await sql`
      update writebacks set status = ${to}, revoked_as = ${typedParameter(context.kind, 'text', revokedAs)}, step = ${transition.why}, error = ${isFinished && to !== 'succeeded' ? transition.why : null},
        request_id = coalesce(${typedParameter(context.kind, 'text', transition.requestId ?? null)}, request_id), finished_at = ${finishedAt},
        message_id = coalesce(${typedParameter(context.kind, 'text', transition.messageId ?? null)}, message_id),
        evidence = ${encodeEvidence(context.kind, evidence)}, owner = null, lease_until = null,
        due_at = ${typedParameter(context.kind, 'integer', transition.dueAt ?? null)},
        attempts = attempts - ${transition.event === 'not_sent' ? 1 : 0}
      where project_id = ${context.project} and id = ${writeback.id}`.execute(trx)
    await recordBehaviours(context, trx, transition.observedBehaviours ?? [])
    return to
  })
}

/** A settled row does not need thousands of message ids, and the circuit breaker reads settled rows often. */
function withoutMessageIds(to: WritebackStatus, evidence: Evidence): Evidence {
  if (!finalStatuses.includes(to) || to === 'uncertain' || evidence.before?.ids === undefined) return evidence
  const { ids: _, ...before } = evidence.before
  return { ...evidence, before }
}

async function release(
  context: OutboxContext,
  writeback: Writeback,
  dueAt: EpochMs | null,
  evidence: Evidence = {},
): Promise<void> {
  const merged = encodeEvidence(context.kind, { ...writeback.evidence, ...evidence })
  const released = sql`
    update writebacks set owner = null, lease_until = null, due_at = ${typedParameter(context.kind, 'integer', dueAt)}, evidence = ${merged}
    where project_id = ${context.project} and id = ${writeback.id} and epoch = ${writeback.fencingToken} and status = ${writeback.status}`
  await retryOnDeadlock(() => released.execute(context.db))
}

/** A message id can be matched to only one write-back of a lane. */
async function recordMessageId(context: OutboxContext, writeback: Writeback, messageId: string): Promise<void> {
  const recorded = sql`
    update writebacks set message_id = ${messageId} where project_id = ${context.project} and id = ${writeback.id} and message_id is null
      and not exists (select 1 from writebacks other where other.project_id = ${context.project} and other.lane = ${writeback.lane}
        and other.message_id = ${messageId})`
  await retryOnDeadlock(() => recorded.execute(context.db))
}

async function listRecentOutcomes(context: OutboxContext, limit: number): Promise<SendOutcome[]> {
  const { rows } = await sql<{
    status: WritebackStatus
    batch: string | null
    at: string
    why: string | null
    evidence: string | null
  }>`
    select status, batch_id as batch, finished_at as at, error as why, evidence from writebacks
    where project_id = ${context.project} and ${operationSql(({ isIdempotent }) => !isIdempotent)} and status in ('succeeded','failed','uncertain')
      and finished_at is not null
    order by finished_at desc, seq desc limit ${limit}`.execute(context.db)
  return rows.map(({ status, batch, at, why, evidence }) => ({
    status,
    batchId: batch,
    at,
    why: why ?? '',
    isOwnFault: ['dead', 'silent'].includes(decodeEvidence(context.kind, evidence).sender ?? ''),
  }))
}
