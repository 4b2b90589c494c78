/**
 * The queue of write-backs of one project, over SQL: claims by compare-and-set, so that of several processes one acts.
 * Whoever claims gets a number of its own (`epoch`); whoever sends one too (`attempts`).
 */
import { type RawBuilder, sql } from 'kysely'
import type { Evidence, Fate, Outbox, Step, Writeback } from '../../core/outbox/outbox.ts'
import { next, type Revocation, type Status, stateOf, toStored } from '../../core/outbox/state.ts'
import { hasExpired } from '../../core/outbox/wish.ts'
import { type EpochMs, type Ms, rfc3339 } from '../../core/time.ts'
import { bound } from '../database/dialect.ts'
import { durably, untangled } from '../database/durable.ts'
import type { Db } from '../database/session.ts'
import type { Context } from '../mirror/context.ts'
import { learn, readBehaviours } from '../mirror/knowledge.ts'
import { follow, isCancelling, isCovered, lockAgainstCancelling } from './cancellations.ts'
import { lanePastOf } from './lane-past.ts'
import { ownName } from './owner.ts'
import { decodeEvidence, encodeEvidence, type Row, senderOf, toWriteback } from './row.ts'
import { hasItsTurn, isPending, isReady, ready } from './turn.ts'

/** How long a claim holds without a word; longer than anything done under one takes, waiting for the budget aside. */
const leaseMs: Ms = 120_000

/** Nothing new begins while rows of a cancellation have yet to follow it; so long at a time. */
const followForMs: Ms = 500

type C = Pick<Context, 'db' | 'kind' | 'project' | 'clock'>

export function outboxOf(c: C): Outbox {
  const owner = ownName()
  return {
    ready: async (now, limit, of) =>
      (await follow(c, performance.now() + followForMs)) ? ready(c, now, limit, of) : [],
    isPending: async (of) => (await isCancelling(c)) || (await isPending(c, of)),
    claim: (id, now) => claim(c, id, owner, now),
    leave: (one, evidence, now, dueAt) => leave(c, one, owner, evidence, now, dueAt),
    sent: (one, step) => settle(c, one, step, sql`attempts = ${one.attempts + 1} and ${isWaitedFor}`),
    settle: (one, step) => settle(c, one, step, sql`epoch = ${one.epoch} and status = ${one.status}`),
    release: (one, dueAt, evidence) => release(c, one, dueAt, evidence),
    noteMessage: (one, messageId) => noteMessage(c, one, messageId),
    ...lanePastOf(c),
    lastFates: (limit) => lastFates(c, limit),
    behaviours: () => readBehaviours(c),
    learn: (learned) => durably(c.db, c.kind, (trx) => learn(c, trx, learned)),
  }
}

/** Those that were sent; a person may have put one back, or off, by SQL while it was on its way. */
const isWaitedFor = sql`status in ('sending','uncertain','queued','cancelled','expired')`

/** One after the other in each lane, so that none of two that decide at the same moment misses the other's decision. */
async function lockLane(c: C, trx: Db, lane: RawBuilder<unknown>): Promise<void> {
  if (c.kind === 'postgres') await sql`select pg_advisory_xact_lock(hashtext(${c.project} || ${lane}))`.execute(trx)
}

async function claim(c: C, id: string, owner: string, now: EpochMs): Promise<Writeback | null> {
  const isOpen = await isReady(c, now)
  return durably(c.db, c.kind, async (trx) => {
    const lock = c.kind === 'postgres' ? sql`for update` : sql``
    await lockLane(c, trx, sql`(select lane from writebacks where project_id = ${c.project} and id = ${id})`)
    const { rows } = await sql<Row>`
      select id, lane, operation, conversation_id, visitor_id, payload, status, attempts, batch_id, expect, created_at,
        expires_at, seen, evidence, epoch, owner, revoked_as from writebacks
      where project_id = ${c.project} and id = ${id} and ${isOpen} and not (status = 'queued' and ${isCovered}) ${lock}`.execute(
      trx,
    )
    const row = rows[0]
    if (row === undefined) return null
    const evidence = { ...decodeEvidence(c.kind, row.evidence), ...senderOf(c.kind, row) }
    await sql`
      update writebacks set owner = ${owner}, lease_until = ${bound(c.kind, 'integer', now + leaseMs)},
        epoch = epoch + 1, evidence = ${encodeEvidence(c.kind, evidence)}
      where project_id = ${c.project} and id = ${id}`.execute(trx)
    return toWriteback(c.kind, row, evidence)
  })
}

function leave(
  c: C,
  one: Writeback,
  owner: string,
  evidence: Evidence,
  now: EpochMs,
  dueAt: EpochMs,
): Promise<boolean> {
  const { sender: _, looks: __, claim: ___, ...rest } = { ...one.evidence, ...evidence }
  return durably(c.db, c.kind, async (trx) => {
    await lockLane(c, trx, bound(c.kind, 'text', one.lane))
    await lockAgainstCancelling(c, trx, 'shared')
    // After every wait: for a slot of the budget, for the lane, for the row.
    if (await isTooLate(c, trx, one, now)) return false
    const { numAffectedRows } = await sql`
      update writebacks set status = 'sending', attempts = attempts + 1, sent_at = ${at(c, now)}, finished_at = null,
        error = null, revoked_as = null, step = 'it leaves', evidence = ${encodeEvidence(c.kind, rest)},
        lease_until = ${bound(c.kind, 'integer', now + leaseMs)}, due_at = ${bound(c.kind, 'integer', dueAt)}
      where project_id = ${c.project} and id = ${one.id} and status = 'queued' and epoch = ${one.epoch}
        and owner = ${owner} and attempts = ${one.attempts} and ${hasItsTurn}
        and not ${isCovered}`.execute(trx)
    return numAffectedRows === 1n
  })
}

/** By the row as it is now, and by the clock as it is now. */
async function isTooLate(c: C, trx: Db, { id }: Writeback, now: EpochMs): Promise<boolean> {
  const lock = c.kind === 'postgres' ? sql`for update` : sql``
  const { rows } = await sql<{ expires: string | null }>`
    select expires_at as expires from writebacks where project_id = ${c.project} and id = ${id} ${lock}`.execute(trx)
  return hasExpired(rows[0]?.expires ?? null, Math.max(now, c.clock()))
}

/** Nothing happens to these by itself. */
const finished: readonly Status[] = ['succeeded', 'failed', 'conflict', 'uncertain', 'cancelled', 'expired']

/** `mine`: what must still be so, for this process to have a say. */
function settle(c: C, one: Writeback, step: Step, mine: RawBuilder<unknown>): Promise<Status | null> {
  return durably(c.db, c.kind, async (trx) => {
    const lock = c.kind === 'postgres' ? sql`for update` : sql``
    const { rows } = await sql<{ status: Status; revoked: Revocation | null; evidence: string | null }>`
      select status, revoked_as as revoked, evidence from writebacks where project_id = ${c.project} and id = ${one.id} and ${mine} ${lock}`.execute(
      trx,
    )
    const row = rows[0]
    const state = row === undefined ? null : next(stateOf(row.status, row.revoked), step.happening)
    if (row === undefined || state === null) return null
    const { status: to, revokedAs } = toStored(state)
    const evidence = stillNeeded(to, { ...decodeEvidence(c.kind, row.evidence), ...step.evidence })
    const isFinished = finished.includes(to)
    const finishedAt = isFinished ? at(c, c.clock()) : sql`null`
    await sql`
      update writebacks set status = ${to}, revoked_as = ${bound(c.kind, 'text', revokedAs)}, step = ${step.why}, error = ${isFinished && to !== 'succeeded' ? step.why : null},
        request_id = coalesce(${bound(c.kind, 'text', step.requestId ?? null)}, request_id), finished_at = ${finishedAt},
        message_id = coalesce(${bound(c.kind, 'text', step.messageId ?? null)}, message_id),
        evidence = ${encodeEvidence(c.kind, evidence)}, owner = null, lease_until = null,
        due_at = ${bound(c.kind, 'integer', step.dueAt ?? null)},
        attempts = attempts - ${step.happening === 'undone' ? 1 : 0}
      where project_id = ${c.project} and id = ${one.id}`.execute(trx)
    await learn(c, trx, step.learned ?? [])
    return to
  })
}

/** Ids of thousands of messages are of no use to one that has come to its end; the breaker reads these again and again. */
function stillNeeded(to: Status, evidence: Evidence): Evidence {
  if (!finished.includes(to) || to === 'uncertain' || evidence.before?.ids === undefined) return evidence
  const { ids: _, ...before } = evidence.before
  return { ...evidence, before }
}

function at(c: C, ms: EpochMs): RawBuilder<string> {
  return bound(c.kind, 'time', rfc3339(Math.floor(ms / 1000)))
}

async function release(c: C, one: Writeback, dueAt: EpochMs | null, evidence: Evidence = {}): Promise<void> {
  const known = encodeEvidence(c.kind, { ...one.evidence, ...evidence })
  const released = sql`
    update writebacks set owner = null, lease_until = null, due_at = ${bound(c.kind, 'integer', dueAt)}, evidence = ${known}
    where project_id = ${c.project} and id = ${one.id} and epoch = ${one.epoch} and status = ${one.status}`
  await untangled(() => released.execute(c.db))
}

/** Another write-back of the lane may have it as its proof already: the database keeps it that way. */
async function noteMessage(c: C, one: Writeback, messageId: string): Promise<void> {
  const noted = sql`
    update writebacks set message_id = ${messageId} where project_id = ${c.project} and id = ${one.id} and message_id is null
      and not exists (select 1 from writebacks other where other.project_id = ${c.project} and other.lane = ${one.lane}
        and other.message_id = ${messageId})`
  await untangled(() => noted.execute(c.db))
}

async function lastFates(c: C, limit: number): Promise<Fate[]> {
  const { rows } = await sql<{
    status: Status
    batch: string | null
    at: string
    why: string | null
    evidence: string | null
  }>`
    select status, batch_id as batch, finished_at as at, error as why, evidence from writebacks
    where project_id = ${c.project} and operation in ('message','note') and status in ('succeeded','failed','uncertain')
      and finished_at is not null
    order by finished_at desc, seq desc limit ${limit}`.execute(c.db)
  return rows.map(({ status, batch, at, why, evidence }) => ({
    status,
    batchId: batch,
    at,
    why: why ?? '',
    ownFault: ['dead', 'silent'].includes(decodeEvidence(c.kind, evidence).sender ?? ''),
  }))
}
