/**
 * The queue of write-backs of one project, over SQL: claims by compare-and-set, so that of several processes one acts.
 * Whoever claims gets a number of its own (`epoch`); whoever sends one too (`attempts`).
 */
import { type RawBuilder, sql } from 'kysely'
import type { Evidence, Fate, Outbox, Step, Writeback } from '../../core/outbox/outbox.ts'
import { next, type Status } from '../../core/outbox/state.ts'
import { type EpochMs, type Ms, rfc3339 } from '../../core/time.ts'
import { bound } from '../database/dialect.ts'
import { durably, untangled } from '../database/durable.ts'
import type { Db } from '../database/session.ts'
import type { Context } from '../mirror/context.ts'
import { learn, readBehaviours } from '../mirror/knowledge.ts'
import { lanePastOf } from './lane-past.ts'
import { ownName } from './owner.ts'
import { decodeEvidence, encodeEvidence, type Row, senderOf, toWriteback } from './row.ts'
import { hasItsTurn, isPending, isReady, ready } from './turn.ts'

/** How long a claim holds without a word; longer than anything done under one takes, waiting for the budget aside. */
const leaseMs: Ms = 120_000

type C = Pick<Context, 'db' | 'kind' | 'project' | 'clock'>

export function outboxOf(c: C): Outbox {
  const owner = ownName()
  return {
    ready: (now, limit, of) => ready(c, now, limit, of),
    isPending: (of) => isPending(c, of),
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
const isWaitedFor = sql`status in ('sending','uncertain','queued','cancelled')`

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
        expires_at, seen, evidence, epoch, owner from writebacks
      where project_id = ${c.project} and id = ${id} and ${isOpen} ${lock}`.execute(trx)
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
    const { numAffectedRows } = await sql`
      update writebacks set status = 'sending', attempts = attempts + 1, sent_at = ${at(c, now)}, finished_at = null,
        error = null, step = 'it leaves', evidence = ${encodeEvidence(c.kind, rest)},
        lease_until = ${bound(c.kind, 'integer', now + leaseMs)}, due_at = ${bound(c.kind, 'integer', dueAt)}
      where project_id = ${c.project} and id = ${one.id} and status = 'queued' and epoch = ${one.epoch}
        and owner = ${owner} and attempts = ${one.attempts} and ${hasItsTurn}`.execute(trx)
    return numAffectedRows === 1n
  })
}

/** Nothing happens to these by itself. */
const finished: readonly Status[] = ['succeeded', 'failed', 'conflict', 'uncertain', 'cancelled', 'expired']

/** `mine`: what must still be so, for this process to have a say. */
function settle(c: C, one: Writeback, step: Step, mine: RawBuilder<unknown>): Promise<Status | null> {
  return durably(c.db, c.kind, async (trx) => {
    const lock = c.kind === 'postgres' ? sql`for update` : sql``
    const { rows } = await sql<{ status: Status; evidence: string | null }>`
      select status, evidence from writebacks where project_id = ${c.project} and id = ${one.id} and ${mine} ${lock}`.execute(
      trx,
    )
    const row = rows[0]
    const to = row === undefined ? null : next(row.status, step.happening)
    if (row === undefined || to === null) return null
    const evidence = stillNeeded(to, { ...decodeEvidence(c.kind, row.evidence), ...step.evidence })
    const isFinished = finished.includes(to)
    const finishedAt = isFinished ? at(c, c.clock()) : sql`null`
    await sql`
      update writebacks set status = ${to}, step = ${step.why}, error = ${isFinished && to !== 'succeeded' ? step.why : null},
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
