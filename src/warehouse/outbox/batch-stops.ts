/**
 * Stopping a batch and going on with it. A stop is one column of the batch and takes effect at once, as nothing of a
 * stopped batch can be claimed or sent. The rows follow a few thousand at a time, in whichever process works on the queue.
 */
import { sql } from 'kysely'
import type { BatchDecisionOptions, SelectionMoved } from '../../core/outbox/admin.ts'
import { type BatchDecision, decisions } from '../../core/outbox/decisions.ts'
import { appendEvent } from '../console/audit-log.ts'
import type { Db } from '../database/connection-pool.ts'
import { readClock } from '../database/database-clock.ts'
import { inDurableTransaction, retryOnDeadlock } from '../database/durable-transaction.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { acquireCancellationLock, findWindowEnd } from './cancellations.ts'
import { hasOpenStop, isStoppedSql } from './open-decisions.ts'
import { decidedSql, toTimeValue } from './row.ts'
import { lockSelection } from './selection-digest.ts'

type BatchDecisionResult = { readonly moved: number; readonly inFlight: number }

/** In force when it returns; null if the batch is so already, or nothing of it could be stopped. */
export function recordBatchDecision(
  context: ProjectDb,
  decision: BatchDecision,
  batch: string,
  by: string,
  { audit, shown }: BatchDecisionOptions = {},
): Promise<BatchDecisionResult | SelectionMoved | null> {
  return inDurableTransaction(context, async (trx) => {
    const { db, project, typed } = trx
    // As for a cancellation: waits for sends that are being recorded, and blocks later ones until they can see it.
    await acquireCancellationLock(trx, 'exclusive')
    const { ids: _, ...named } =
      shown === undefined ? { ids: [], digest: '', count: 0 } : await lockSelection(trx, shown.filter)
    if (shown !== undefined && named.digest !== shown.digest) return { moved: named }
    const { rows } = await sql<{ queued: number; stopped: number; sending: number }>`
      select count(case when status = 'queued' then 1 end) as queued, count(case when ${isStoppedSql} then 1 end) as stopped,
        count(case when status = 'sending' then 1 end) as sending
      from writebacks where project_id = ${project} and batch_id = ${batch}`.execute(db)
    const { queued = 0, stopped = 0, sending = 0 } = rows[0] ?? {}
    if (decision === 'stopped' && queued + sending === 0) return null
    const person = typed('text', by)
    const [now, none] = [toTimeValue(trx), sql`null`]
    const isStop = decision === 'stopped'
    const { numAffectedRows } = await sql`
      update writeback_batches set stopped_at = ${isStop ? now : none}, stopped_by = ${isStop ? person : none},
        done_to = 0, done_by = ${person}
      where project_id = ${project} and id = ${batch} and stopped_at is ${isStop ? none : sql`not null`}`.execute(db)
    if (numAffectedRows === 0n) return null
    const moved = isStop ? queued : queued + stopped
    if (audit !== undefined) await appendEvent(db, audit(moved), trx.clock())
    return { moved, inFlight: sending }
  })
}

/** Updates rows until all follow, or until `until` (by `performance.now`). True if all follow. */
export async function applyStops(context: ProjectDb, until: number): Promise<boolean> {
  while (await hasOpenStop(context)) {
    if (performance.now() > until || !(await applyNextWindow(context))) return false
    // Lets other work use SQLite's single connection in between.
    await new Promise(setImmediate)
  }
  return true
}

type FollowingBatch = {
  readonly id: string
  readonly stoppedAt: string | null
  readonly doneTo: number
  readonly doneBy: string
}

/** False if another process is doing it. */
function applyNextWindow(context: ProjectDb): Promise<boolean> {
  const { project, typed } = context
  const skip = context.kind === 'postgres' ? sql`for update skip locked` : sql``
  const once = async (db: Db) => {
    const trx = { ...context, db, clock: await readClock(db, context.kind) }
    const { rows } = await sql<FollowingBatch>`
      select id, stopped_at as "stoppedAt", done_to as "doneTo", coalesce(done_by, '') as "doneBy" from writeback_batches
      where project_id = ${project} and done_to is not null order by id limit 1 ${skip}`.execute(db)
    const [batch] = rows
    if (batch === undefined) return false
    const end = await findWindowEnd(trx, { batch: batch.id, after: batch.doneTo, upTo: Number.MAX_SAFE_INTEGER })
    if (end !== null) await moveRows(trx, batch, end)
    await sql`update writeback_batches set done_to = ${typed('integer', end)},
      done_by = ${typed('text', end === null ? null : batch.doneBy)}
      where project_id = ${project} and id = ${batch.id}`.execute(db)
    return true
  }
  return retryOnDeadlock(() => context.db.transaction().execute(once))
}

/** The new epoch keeps processes that have claimed a row from sending it. The grace of an approval goes on meanwhile. */
async function moveRows(trx: ProjectDb, { id, stoppedAt, doneTo, doneBy }: FollowingBatch, end: number) {
  const isStop = stoppedAt !== null
  const why = `${decisions[isStop ? 'stop' : 'resume'].logged} by ${doneBy}`
  const changes = isStop
    ? sql`status = 'draft', stopped_by = ${doneBy}, due_at = null`
    : sql`status = 'queued', stopped_by = null, due_at = case when undo_until > ${trx.clock()} then undo_until end`
  const isAffected = isStop ? sql`status || '' = 'queued'` : sql`status || '' = 'draft' and stopped_by is not null`
  await sql`update writebacks set ${changes}, step = ${why}, epoch = epoch + 1, owner = null, lease_until = null,
      ${decidedSql(trx, doneBy)}
    where seq > ${doneTo} and seq <= ${end} and ${isAffected} and project_id || '' = ${trx.project}
      and batch_id || '' = ${id}`.execute(trx.db)
}

/** Who stopped the batch; null if it is not stopped. Call it under the lock of cancellations. */
export async function findStop({ db, project }: ProjectDb, batch: string | null): Promise<string | null> {
  if (batch === null) return null
  const { rows } = await sql<{ by: string }>`
    select coalesce(stopped_by, '') as by from writeback_batches
    where project_id = ${project} and id = ${batch} and stopped_at is not null`.execute(db)
  return rows[0]?.by ?? null
}
