/**
 * Claims, sends and outcomes, durable when a function returns. Claims are compare-and-set. Two
 * counters are fencing tokens: `fencing_token` that of a claim, `attempts` that of a send.
 */
import { type RawBuilder, sql } from 'kysely'
import { recordBehaviours } from '../../mirror/sql/sync-state.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { forUpdate } from '../../warehouse/dialect.ts'
import { type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction, retryOnDeadlock } from '../../warehouse/transactions.ts'
import { beginClaim, endClaim, isActiveClaim } from '../active-claims.ts'
import type {
  Evidence,
  OutboxEntry,
  SendOutcome,
  Transition,
  Writeback,
} from '../core/outbox-entry.ts'
import {
  fromStoredState,
  isSettled,
  nextState,
  type OutboxEvent,
  toStoredState,
  type WritebackStatus,
} from '../core/state.ts'
import { hasExpired } from '../core/writeback-request.ts'
import { acquireCancellationLock, findStop } from './batch-decisions.ts'
import {
  claimableSql,
  currentOwner,
  findAbandoned,
  findDeadOwners,
  nextInLaneSql,
  senderState,
} from './claimable.ts'
import {
  columnsOf,
  coveredByCancelSql,
  decodeEvidence,
  encodeEvidence,
  heldBackSql,
  type OutboxRow,
  operationSql,
  outboxColumns,
  readShownIds,
  toWriteback,
} from './row.ts'
import { countSend } from './sending.ts'

/** Duration of a claim; longer than any work under it, apart from waiting for the rate limit. */
const leaseMs: Ms = 120_000

/** Serialises decisions in a lane, so that concurrent ones see each other. */
async function lockLane(
  { db, kind, project }: ProjectDb,
  lane: RawBuilder<unknown>,
): Promise<void> {
  if (kind === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtext(${project} || ${lane}))`.execute(db)
}

/**
 * Null if another process has it or it is no longer first in its lane. `endClaim` ends the work.
 */
export async function claim(
  context: ProjectDb,
  id: string,
  now: EpochMs,
): Promise<Writeback | null> {
  const wasActive = isActiveClaim(id)
  beginClaim(id)
  let isClaimed = false
  try {
    const writeback = await claimOnce(context, id, now, wasActive)
    isClaimed = writeback !== null
    return writeback
  } finally {
    if (!isClaimed && !wasActive) endClaim(id)
  }
}
claim.mayRepeat = true as const

/** `wasActive`: another task of this process claimed it; it is free only if that lease expired. */
async function claimOnce(
  context: ProjectDb,
  id: string,
  now: EpochMs,
  wasActive: boolean,
): Promise<Writeback | null> {
  const { kind, project, typed } = context
  const abandoned = wasActive ? sql`false` : await findAbandoned(context, id)
  const claimable = claimableSql(now, await findDeadOwners(context), abandoned)
  return inDurableTransaction(context, async (trx) => {
    await lockLane(
      trx,
      sql`(select lane from writebacks where project_id = ${project} and id = ${id})`,
    )
    const { rows } = await sql<OutboxRow>`
      select status, ${outboxColumns} from writebacks
      where project_id = ${project} and id = ${id} and ${claimable}
        and not (status = 'queued' and (${coveredByCancelSql}
        or ${heldBackSql(project)})) ${forUpdate(kind)}`.execute(trx.db)
    const [row] = rows
    if (row === undefined) return null
    const writeback = toWriteback(kind, row)
    const evidence = { ...writeback.evidence, ...senderState(kind, row, writeback, wasActive) }
    await sql`
      update writebacks set owner = ${currentOwner()},
      lease_until = ${typed('integer', now + leaseMs)},
        fencing_token = fencing_token + 1, evidence = ${encodeEvidence(kind, evidence)}
      where project_id = ${project} and id = ${id}`.execute(trx.db)
    // A row may have been inserted by SQL, in other letters than the service's.
    const shownId = await readShownIds(trx, [writeback])
    const fencingToken = row.fencingToken + 1
    return { ...writeback, evidence, fencingToken, target: shownId(writeback) }
  })
}

/** Evidence that says nothing about the next send. */
const ofLastSend = ['sender', 'verifications', 'statedResult', 'status'] as const

/**
 * Records the send before the request goes out. False: it has expired, was decided otherwise, is no
 * longer first, or the claim was lost. `dueAt`: when to verify it.
 */
export function markSending(
  context: ProjectDb,
  writeback: Writeback,
  evidence: Evidence,
  now: EpochMs,
  dueAt: EpochMs,
): Promise<boolean> {
  const { kind, project, typed } = context
  const marked = { ...writeback.evidence, ...evidence, sentWith: writeback.fencingToken }
  for (const name of ofLastSend) delete marked[name]
  return inDurableTransaction(context, async (trx) => {
    await lockLane(trx, typed('text', writeback.lane))
    await acquireCancellationLock(trx, 'shared')
    // Checked after every wait: for the rate limit, the lane and the row.
    if (await isExpired(trx, writeback, now)) return false
    const { numAffectedRows } = await sql`
      update writebacks set status = 'sending', attempts = attempts + 1,
      sent_at = ${toTimeValue(context, now)}, finished_at = null,
        error = null, revoked_as = null, reason = 'about to be sent',
        evidence = ${encodeEvidence(kind, marked)},
        lease_until = ${typed('integer', now + leaseMs)}, due_at = ${typed('integer', dueAt)}
      where project_id = ${project}
        and id = ${writeback.id} and status = 'queued' and fencing_token = ${writeback.fencingToken}
        and owner = ${currentOwner()} and attempts = ${writeback.attempts} and ${nextInLaneSql}
        and not ${coveredByCancelSql} and not ${heldBackSql(project)}`.execute(trx.db)
    if (numAffectedRows === 1n) await countSend(trx)
    return numAffectedRows === 1n
  })
}

/** Reads the row and the clock again, as both may have changed. */
async function isExpired(
  { db, kind, project, clock }: ProjectDb,
  { id }: Writeback,
  now: EpochMs,
): Promise<boolean> {
  const { rows } = await sql<{ expires: string | null }>`
    select expires_at as expires from writebacks
    where project_id = ${project} and id = ${id} ${forUpdate(kind)}`.execute(db)
  return hasExpired(rows[0]?.expires ?? null, Math.max(now, clock()))
}

/** Into the queue, or, if its batch is stopped, back to the drafts. */
const eventsThatQueue: readonly OutboxEvent[] = ['not_sent', 'absent']

/**
 * The outcome of the send that `markSending` recorded; null if it was superseded. A send that
 * certainly did not leave is not counted in `attempts`, so a later one can have the same number: the
 * fencing token tells them apart.
 */
export function settleSent(context: ProjectDb, writeback: Writeback, transition: Transition) {
  const ownership = sql`attempts = ${writeback.attempts + 1}`
  const isOwn = ({ sentWith }: Evidence) =>
    sentWith === undefined || sentWith === writeback.fencingToken
  return settleIf(context, writeback, transition, ownership, isOwn)
}
settleSent.mayRepeat = true as const

/** Any other outcome of the claim; null if it was lost. */
export function settle(context: ProjectDb, writeback: Writeback, transition: Transition) {
  const ownership = sql`fencing_token = ${writeback.fencingToken} and status = ${writeback.status}`
  return settleIf(context, writeback, transition, ownership)
}
settle.mayRepeat = true as const

function settleIf(
  context: ProjectDb,
  writeback: Writeback,
  transition: Transition,
  ownership: RawBuilder<unknown>,
  isOwn: (stored: Evidence) => boolean = () => true,
): Promise<WritebackStatus | null> {
  const { kind, project, typed } = context
  const { event, why, requestId = null, messageId = null, dueAt = null } = transition
  return inDurableTransaction(context, async (trx) => {
    // Before the row: a stop waits for this transaction, or is seen by it.
    if (eventsThatQueue.includes(event)) await acquireCancellationLock(trx, 'shared')
    const { rows } = await sql<OutboxRow & Pick<OutboxEntry, 'stoppedBy'>>`
      select ${columnsOf('status revokedAs stoppedBy batchId evidence')} from writebacks
      where project_id = ${project} and id = ${writeback.id}
      and ${ownership} ${forUpdate(kind)}`.execute(trx.db)
    const [row] = rows
    if (row === undefined) return null
    const stored = decodeEvidence(kind, row.evidence)
    const next = nextState(
      fromStoredState(row.status, row.revokedAs, row.stoppedBy !== null),
      event,
    )
    if (next === null || !isOwn(stored)) return null
    const stoppedBy = next === 'queued' ? await findStop(trx, row.batchId) : null
    const state = stoppedBy === null ? next : (nextState(next, 'stopped') ?? next)
    const reason = stoppedBy === null ? why : `${why}; stopped by ${stoppedBy}`
    const { status: to, revokedAs } = toStoredState(state)
    const evidence = withoutMessageIds(to, { ...stored, ...transition.evidence })
    const isFinished = isSettled(to)
    const finishedAt = isFinished ? toTimeValue(trx) : sql`null`
    await sql`
      update writebacks set status = ${to}, revoked_as = ${typed('text', revokedAs)},
      reason = ${reason},
        stopped_by = ${typed('text', stoppedBy)},
        error = ${isFinished && (to !== 'succeeded' || transition.isContradicted === true) ? why : null},
        request_id = coalesce(${typed('text', requestId)}, request_id), finished_at = ${finishedAt},
        message_id = coalesce(${typed('text', messageId)}, message_id),
        evidence = ${encodeEvidence(kind, evidence)}, owner = null, lease_until = null,
        due_at = ${typed('integer', dueAt)}, attempts = attempts - ${event === 'not_sent' ? 1 : 0},
        postponed = ${isFinished ? sql`null` : sql.lit(1)}
      where project_id = ${project} and id = ${writeback.id}`.execute(trx.db)
    await recordBehaviours(trx, transition.observedBehaviours ?? [])
    return to
  })
}

/**
 * Thousands of ids are not needed once the outcome is known, and settled rows are read often. A
 * conflict may have been done before, which whoever sends it again looks for by these ids.
 */
function withoutMessageIds(to: WritebackStatus, { earlier, ...evidence }: Evidence): Evidence {
  const kept = to === 'succeeded' || earlier === undefined ? evidence : { ...evidence, earlier }
  const isKnown = isSettled(to) && to !== 'uncertain' && to !== 'conflict'
  if (!isKnown || kept.before?.ids === undefined) return kept
  const { ids: _, ...before } = kept.before
  return { ...kept, before }
}

/** Gives the claim back without a change of status. */
export async function release(
  { db, kind, project, typed }: ProjectDb,
  writeback: Writeback,
  {
    dueAt,
    evidence = {},
    why,
  }: {
    readonly dueAt: EpochMs | null
    readonly evidence?: Evidence
    /** Why it is not sent or verified yet, for a person. */
    readonly why?: string
  },
): Promise<void> {
  const merged = encodeEvidence(kind, { ...writeback.evidence, ...evidence })
  const reason = why === undefined ? sql`` : sql`, reason = ${why}, postponed = 1`
  const released = sql`
    update writebacks set owner = null, lease_until = null, due_at = ${typed('integer', dueAt)},
    evidence = ${merged} ${reason}
    where project_id = ${project} and id = ${writeback.id}
      and fencing_token = ${writeback.fencingToken} and status = ${writeback.status}`
  await retryOnDeadlock(() => released.execute(db))
}
release.mayRepeat = true as const

/** What the service showed after it had accepted a write-back, or that it shows it now. */
export async function recordContradiction(
  { db, project, typed }: ProjectDb,
  writeback: Writeback,
  why: string,
  isContradicted: boolean,
): Promise<void> {
  const recorded = sql`
    update writebacks set reason = ${why}, error = ${typed('text', isContradicted ? why : null)}
    where project_id = ${project} and id = ${writeback.id} and status = 'succeeded'
      and fencing_token = ${writeback.fencingToken}`
  await retryOnDeadlock(() => recorded.execute(db))
}
recordContradiction.mayRepeat = true as const

/** A message id can be matched to only one write-back of a lane. */
export async function recordMessageId(
  { db, project }: ProjectDb,
  writeback: Writeback,
  messageId: string,
): Promise<void> {
  const recorded = sql`
    update writebacks set message_id = ${messageId} where project_id = ${project}
    and id = ${writeback.id} and message_id is null
      and not exists (select 1 from writebacks other where other.project_id = ${project}
      and other.lane = ${writeback.lane}
        and other.message_id = ${messageId})`
  await retryOnDeadlock(() => recorded.execute(db))
}
recordMessageId.mayRepeat = true as const

/** Enough to find a streak when several imports are sent in parallel. */
const outcomesConsidered = 60

/**
 * The last settled replies and notes since a person closed the circuit breaker, newest first,
 * without those that failed before they were sent.
 */
export async function listRecentOutcomes(context: ProjectDb): Promise<SendOutcome[]> {
  const { db, kind, project } = context
  const isSend = operationSql(({ isIdempotent }) => !isIdempotent)
  const { rows } = await sql<Omit<SendOutcome, 'isOwnFault'> & { evidence: string | null }>`
    select status, batch_id as "batchId", finished_at as at, coalesce(error, '') as why, evidence
    from writebacks
    where project_id = ${project} and ${isSend} and status in ('succeeded','failed','uncertain')
      and not (status = 'failed' and attempts = 0) and finished_at is not null
      and finished_at > coalesce(
        (select circuit_closed_at from sync_projects
        where sync_projects.project_id = ${project}), ${toTimeValue(context, 0)})
    order by finished_at desc, seq desc limit ${sql.lit(outcomesConsidered)}`.execute(db)
  return rows.map(({ evidence, ...outcome }) => {
    const { sender } = decodeEvidence(kind, evidence)
    return { ...outcome, isOwnFault: sender === 'dead' || sender === 'silent' }
  })
}
