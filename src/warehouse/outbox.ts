/**
 * The queue of write-backs of one project, over SQL: claims by compare-and-set, so that of several processes one acts.
 * Whoever claims gets a number of its own (`epoch`); whoever sends one too (`attempts`).
 */
import { type RawBuilder, sql } from 'kysely'
import { stringifyJson } from '../core/json.ts'
import type { Evidence, Fate, Outbox, Part, Ready, Step, Writeback } from '../core/outbox.ts'
import { holding, next, type Status } from '../core/outbox-state.ts'
import type { Json } from '../core/row.ts'
import { type EpochMs, type Ms, rfc3339 } from '../core/time.ts'
import type { Operation } from '../core/wish.ts'
import type { Context } from './context.ts'
import { bound } from './dialect.ts'
import { durably } from './durable.ts'
import { decodeJson, decodeText, encodeJson } from './escape.ts'
import { learn, readBehaviours } from './knowledge.ts'
import { lanePastOf } from './lane-past.ts'
import { isDead, ownName } from './owner.ts'
import type { Db } from './session.ts'

/** How long a claim holds without a word; longer than anything done under one takes, waiting for the budget aside. */
const leaseMs: Ms = 120_000

/** Nobody puts anything off for longer: what is due later was written by a clock that has been set back since. */
const longestRestMs: Ms = 30 * 86_400_000

type C = Pick<Context, 'db' | 'kind' | 'project' | 'clock'>

export function outboxOf(c: C): Outbox {
  const owner = ownName()
  return {
    ready: (now, limit, of) => ready(c, now, limit, of),
    isPending: (of) => isPending(c, of),
    counts: () => counts(c),
    claim: (id, now) => claim(c, id, owner, now),
    leave: (one, evidence, now, dueAt) => leave(c, one, owner, evidence, now, dueAt),
    sent: (one, step) => settle(c, one, step, sql`attempts = ${one.attempts + 1} and ${isWaitedFor}`),
    settle: (one, step) => settle(c, one, step, sql`epoch = ${one.epoch} and status = ${one.status}`),
    release: (one, dueAt, evidence) => release(c, one, dueAt, evidence),
    noteMessage: (one, messageId) => noteMessage(c, one, messageId),
    ...lanePastOf(c),
    lastFates: (limit) => lastFates(c, limit),
    behaviours: () => readBehaviours(c as Context),
    learn: (learned) => durably(c.db, c.kind, (trx) => learn(c as Context, trx, learned)),
  }
}

/** Those that were sent; a person may have put one back, or off, by SQL while it was on its way. */
const isWaitedFor = sql`status in ('sending','uncertain','queued','cancelled')`

/** Nothing of the same lane that was queued before is unsettled. */
const isFirst = sql`not exists (select 1 from writebacks before where before.project_id = writebacks.project_id
  and before.lane = writebacks.lane and before.seq < writebacks.seq
  and before.status in (${sql.join(holding.map((status) => sql.lit(status)))}))`

/** A retry or an approval may put one in front of one that is under way: that one is waited for. */
const isAlone = sql`not exists (select 1 from writebacks other where other.project_id = writebacks.project_id
  and other.lane = writebacks.lane and other.seq > writebacks.seq and other.status = 'sending')`

/** One after the other in each lane, so that none of two that decide at the same moment misses the other's decision. */
async function inLane(c: C, trx: Db, lane: RawBuilder<unknown>): Promise<void> {
  if (c.kind === 'postgres') await sql`select pg_advisory_xact_lock(hashtext(${c.project} || ${lane}))`.execute(trx)
}

/** Nobody works on it: it has no owner, its owner is dead, or has not said a word for the length of a lease. */
async function isFree(c: C, now: EpochMs): Promise<RawBuilder<unknown>> {
  const { rows } = await sql<{ owner: string }>`
    select distinct owner from writebacks where project_id = ${c.project} and owner is not null`.execute(c.db)
  const dead = rows.map((row) => row.owner).filter((owner) => isDead(owner, c.kind))
  const free = [
    sql`owner is null`,
    sql`lease_until <= ${now}`,
    sql`lease_until > ${now + longestRestMs}`,
    ...dead.map((owner) => sql`owner = ${owner}`),
  ]
  return sql`(${sql.join(free, sql` or `)})`
}

function isDue(now: EpochMs): RawBuilder<unknown> {
  return sql`(due_at is null or due_at <= ${now} or due_at > ${now + longestRestMs})`
}

async function ready(c: C, now: EpochMs, limit: number, of: Part = {}): Promise<Ready[]> {
  const { rows } = await sql<Ready>`
    select id, lane, operation, status, batch_id as "batchId" from writebacks
    where project_id = ${c.project} and status in ('queued','sending') and ${isDue(now)}
      and ${isIn(of)} and ${await isFree(c, now)} and ${isFirst} and ${isAlone}
    order by seq limit ${limit}`.execute(c.db)
  return rows
}

async function isPending(c: C, of: Part = {}): Promise<boolean> {
  const { rows } = await sql`
    select 1 from writebacks where project_id = ${c.project} and status in ('queued','sending') and ${isIn(of)}
      and ${isFirst} limit 1`.execute(c.db)
  return rows.length > 0
}

function isIn({ lane, withoutOperations = [], withoutSending = [] }: Part): RawBuilder<unknown> {
  const batches =
    withoutSending === 'all' ? [sql`true`] : withoutSending.map((batch) => sql`batch_id is not distinct from ${batch}`)
  const conditions = [
    ...(lane === undefined ? [] : [sql`lane = ${lane}`]),
    ...(withoutOperations.length === 0 ? [] : [sql`operation not in (${sql.join(withoutOperations)})`]),
    ...(batches.length === 0
      ? []
      : [sql`not (status = 'queued' and operation in ('message','note') and (${sql.join(batches, sql` or `)}))`]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}

async function counts(c: C): Promise<Partial<Record<Status, number>>> {
  const { rows } = await sql<{ status: Status; count: number }>`
    select status, count(*) as count from writebacks where project_id = ${c.project} group by status`.execute(c.db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

type Row = {
  id: string
  lane: string
  operation: Operation
  conversation_id: string | null
  visitor_id: string | null
  payload: string
  status: Status
  attempts: number
  batch_id: string | null
  expect: string | null
  created_at: string
  expires_at: string | null
  seen: string | null
  evidence: string | null
  epoch: number
  owner: string | null
}

async function claim(c: C, id: string, owner: string, now: EpochMs): Promise<Writeback | null> {
  const free = await isFree(c, now)
  return durably(c.db, c.kind, async (trx) => {
    const lock = c.kind === 'postgres' ? sql`for update` : sql``
    await inLane(c, trx, sql`(select lane from writebacks where project_id = ${c.project} and id = ${id})`)
    const { rows } = await sql<Row>`
      select id, lane, operation, conversation_id, visitor_id, payload, status, attempts, batch_id, expect, created_at,
        expires_at, seen, evidence, epoch, owner from writebacks
      where project_id = ${c.project} and id = ${id} and status in ('queued','sending')
        and ${isDue(now)} and ${free} and ${isFirst} and ${isAlone} ${lock}`.execute(trx)
    const row = rows[0]
    if (row === undefined) return null
    const evidence = { ...readEvidence(c, row.evidence), ...senderOf(c, row) }
    await sql`
      update writebacks set owner = ${owner}, lease_until = ${bound(c.kind, 'integer', now + leaseMs)},
        epoch = epoch + 1, evidence = ${evidenceOf(c, evidence)}
      where project_id = ${c.project} and id = ${id}`.execute(trx)
    return toWriteback(c, row, evidence)
  })
}

/** Of one that was sent: what can still be expected of the process that sent it. */
function senderOf(c: C, row: Row): Pick<Evidence, 'sender'> {
  if (row.status !== 'sending' || readEvidence(c, row.evidence).sender !== undefined) return {}
  if (row.owner === null) return { sender: 'ended' }
  return { sender: isDead(row.owner, c.kind) ? 'dead' : 'silent' }
}

function toWriteback(c: C, row: Row, evidence: Evidence): Writeback {
  const target =
    row.conversation_id !== null && /^(message|handled)$/.test(row.operation) ? row.conversation_id : row.visitor_id
  const about = /^(message|handled)$/.test(row.operation) ? 'conversation_id' : 'visitor_id'
  const payload: Record<string, unknown> = JSON.parse(decodeJson(c.kind, row.payload))
  return {
    id: row.id,
    lane: row.lane,
    operation: row.operation,
    target: target ?? '',
    line: {
      operation: row.operation,
      [about]: target,
      ...payload,
      ...(row.expect === null ? {} : { expect: row.expect }),
      ...(row.expires_at === null ? {} : { expires_at: row.expires_at }),
    },
    status: row.status,
    attempts: row.attempts,
    batchId: row.batch_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    seen: row.seen === null ? null : decoded(JSON.parse(decodeJson(c.kind, row.seen))),
    evidence,
    epoch: row.epoch + 1,
  }
}

/** The mirror's columns hold some characters escaped. */
function decoded(seen: Record<string, string | null>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(seen).map(([name, text]) => [name, text === null ? null : decodeText(text)]))
}

/** It holds words of the service and of visitors: whatever characters those are. */
function evidenceOf({ kind }: C, evidence: Evidence): RawBuilder<string> {
  return bound(kind, 'json', encodeJson(kind, stringifyJson(evidence as Json)))
}

function readEvidence(c: C, text: string | null): Evidence {
  return text === null ? {} : JSON.parse(decodeJson(c.kind, text))
}

function leave(
  c: C,
  one: Writeback,
  owner: string,
  evidence: Evidence,
  now: EpochMs,
  dueAt: EpochMs,
): Promise<boolean> {
  const { sender: _, looks: __, ...rest } = { ...one.evidence, ...evidence }
  return durably(c.db, c.kind, async (trx) => {
    await inLane(c, trx, bound(c.kind, 'text', one.lane))
    const { numAffectedRows } = await sql`
      update writebacks set status = 'sending', attempts = attempts + 1, sent_at = ${at(c, now)}, finished_at = null,
        error = null, step = 'it leaves', evidence = ${evidenceOf(c, rest)},
        lease_until = ${bound(c.kind, 'integer', now + leaseMs)}, due_at = ${bound(c.kind, 'integer', dueAt)}
      where project_id = ${c.project} and id = ${one.id} and status = 'queued' and epoch = ${one.epoch}
        and owner = ${owner} and attempts = ${one.attempts} and ${isFirst} and ${isAlone}`.execute(trx)
    return numAffectedRows === 1n
  })
}

const settled: readonly Status[] = ['succeeded', 'failed', 'conflict', 'uncertain', 'cancelled', 'expired']

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
    const evidence = { ...readEvidence(c, row.evidence), ...step.evidence }
    const final = settled.includes(to)
    const finishedAt = final ? at(c, c.clock()) : sql`null`
    await sql`
      update writebacks set status = ${to}, step = ${step.why}, error = ${final && to !== 'succeeded' ? step.why : null},
        request_id = coalesce(${bound(c.kind, 'text', step.requestId ?? null)}, request_id), finished_at = ${finishedAt},
        message_id = coalesce(${bound(c.kind, 'text', step.messageId ?? null)}, message_id),
        evidence = ${evidenceOf(c, evidence)}, owner = null, lease_until = null,
        due_at = ${bound(c.kind, 'integer', step.dueAt ?? null)},
        attempts = attempts - ${step.happening === 'undone' ? 1 : 0}
      where project_id = ${c.project} and id = ${one.id}`.execute(trx)
    await learn(c as Context, trx, step.learned ?? [])
    return to
  })
}

function at(c: C, ms: EpochMs): RawBuilder<string> {
  return bound(c.kind, 'time', rfc3339(Math.floor(ms / 1000)))
}

async function release(c: C, one: Writeback, dueAt: EpochMs | null, evidence: Evidence = {}): Promise<void> {
  const known = evidenceOf(c, { ...one.evidence, ...evidence })
  await sql`
    update writebacks set owner = null, lease_until = null, due_at = ${bound(c.kind, 'integer', dueAt)}, evidence = ${known}
    where project_id = ${c.project} and id = ${one.id} and epoch = ${one.epoch} and status = ${one.status}`.execute(
    c.db,
  )
}

/** Another write-back of the lane may have it as its proof already: the database keeps it that way. */
async function noteMessage(c: C, one: Writeback, messageId: string): Promise<void> {
  await sql`
    update writebacks set message_id = ${messageId} where project_id = ${c.project} and id = ${one.id} and message_id is null
      and not exists (select 1 from writebacks other where other.project_id = ${c.project} and other.lane = ${one.lane}
        and other.message_id = ${messageId})`.execute(c.db)
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
    ownFault: ['dead', 'silent'].includes(readEvidence(c, evidence).sender ?? ''),
  }))
}
