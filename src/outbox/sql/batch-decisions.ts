/**
 * Decisions about a whole batch or about everything: cancelling, stopping, and going on. Each is one row, or one column of
 * the batch, and takes effect at once, as nothing that it covers can be claimed or sent. The rows follow a few thousand at
 * a time, in whichever process works on the queue.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock, readClock } from '../../warehouse/dialect.ts'
import { inDurableTransaction, retryOnDeadlock } from '../../warehouse/durable-transaction.ts'
import { newId } from '../../warehouse/new-id.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { SelectionDigest } from '../core/batches.ts'
import { type BatchDecision, type DecisionTerms, decisions } from '../core/decisions.ts'
import { appendEvent } from './audit-log.ts'
import { lockSelection } from './entries.ts'
import { coveredByCancelSql, decidedSql, hasOpenCancellation, hasOpenStop, isStoppedSql, toTimeValue } from './row.ts'

type CancellationScope = Pick<DecisionTerms, 'by' | 'audit'> & {
  /** Null covers everything. */
  readonly batch: string | null
  /** Also covers rows without a project. */
  readonly orWithoutProject: boolean
}

/** No process can be sending these. */
const unsentSql = sql`status in ('draft','queued')`

/**
 * In Postgres, recording a cancellation waits for sends that are being recorded, and blocks later ones until they can
 * see it. SQLite allows one write transaction at a time anyway.
 */
export async function acquireCancellationLock({ db, kind, project }: ProjectDb, mode: 'shared' | 'exclusive') {
  await acquireLock(db, kind, `deskmirror.cancel ${project}`, mode)
}

/** Returns how many rows it covers and the first thousand ids. `revokeSending` marks the rows in flight. */
export function recordCancellation(
  context: ProjectDb,
  { batch, orWithoutProject, by, audit }: CancellationScope,
  revokeSending: (trx: ProjectDb) => Promise<void>,
): Promise<{ readonly count: number; readonly ids: readonly string[] }> {
  return inDurableTransaction(context, async (trx) => {
    const { db, project, typed } = trx
    const now = toTimeValue(trx)
    await acquireCancellationLock(trx, 'exclusive')
    const isAlreadyCancelled = (await hasOpenCancellation(trx)) ? coveredByCancelSql : sql`false`
    const covered = sql`project_id in (${sql.join(orWithoutProject ? [project, ''] : [project])}) and ${unsentSql}
      and not ${isAlreadyCancelled} and ${batch === null ? sql`true` : sql`batch_id = ${batch}`}`
    const first = await sql<{ id: string }>`select id from writebacks where ${covered} limit 1000`.execute(db)
    const all = await sql<{ count: number }>`select count(*) as count from writebacks where ${covered}`.execute(db)
    const last = await sql<{ seq: number }>`select coalesce(max(seq), 0) as seq from writebacks`.execute(db)
    const count = all.rows[0]?.count ?? 0
    if (count > 0)
      await sql`insert into writeback_cancellations
        (project_id, id, batch_id, nameless, up_to, done_to, cancelled_at, cancelled_by)
        values (${project}, ${newId(trx.clock())}, ${typed('text', batch)}, ${sql.lit(orWithoutProject ? 1 : 0)},
          ${last.rows[0]?.seq ?? 0}, 0, ${now}, ${by})`.execute(db)
    await revokeSending(trx)
    if (audit !== undefined) await appendEvent(db, audit(count), trx.clock())
    return { count, ids: first.rows.map(({ id }) => id) }
  })
}

type OpenCancellation = {
  readonly id: string
  readonly batch: string | null
  readonly nameless: number
  readonly upTo: number
  readonly doneTo: number
  readonly at: string
  readonly by: string
}

/** Updates rows until all follow, or until `until` (by `performance.now`). True if all follow. */
export async function followDecisions(context: ProjectDb, until: number): Promise<boolean> {
  return (
    (await followIn(context, until, hasOpenCancellation, followCancellation)) &&
    (await followIn(context, until, hasOpenStop, followStop))
  )
}

/** `followNext`: updates the next rows; false if another process is doing it. Lost updates are done again. */
async function followIn(
  context: ProjectDb,
  until: number,
  isOpen: (context: ProjectDb) => Promise<boolean>,
  followNext: (trx: ProjectDb, lock: RawBuilder<unknown>) => Promise<boolean>,
): Promise<boolean> {
  const { db, kind } = context
  const lock = kind === 'postgres' ? sql`for update skip locked` : sql``
  const once = async (trx: Db) => followNext({ ...context, db: trx, clock: await readClock(trx, kind) }, lock)
  while (await isOpen(context)) {
    if (performance.now() > until) return false
    if (!(await retryOnDeadlock(() => db.transaction().execute(once)))) return false
    // Lets other work use SQLite's single connection in between.
    await new Promise(setImmediate)
  }
  return true
}

async function followCancellation(trx: ProjectDb, lock: RawBuilder<unknown>): Promise<boolean> {
  const { db, project } = trx
  const { rows } = await sql<OpenCancellation>`
    select id, batch_id as batch, nameless, up_to as "upTo", done_to as "doneTo", cancelled_at as at,
      cancelled_by as by from writeback_cancellations
    where project_id = ${project} and finished_at is null order by id limit 1 ${lock}`.execute(db)
  const [open] = rows
  if (open === undefined) return false
  const end = await findWindowEnd(trx, { ...open, after: open.doneTo })
  if (end !== null) await cancelRows(trx, open, end)
  const finishedAt = end === null ? toTimeValue(trx) : sql`null`
  await sql`update writeback_cancellations set done_to = ${end ?? open.upTo}, finished_at = ${finishedAt}
    where project_id = ${project} and id = ${open.id}`.execute(db)
  return true
}

async function cancelRows(
  trx: ProjectDb,
  { batch, nameless, doneTo, at, by }: OpenCancellation,
  end: number,
): Promise<void> {
  const { db, project, typed } = trx
  const why = `cancelled by ${by}`
  await sql`update writebacks set status = 'cancelled', step = ${why}, error = ${why}, epoch = epoch + 1, owner = null,
    lease_until = null, due_at = null, revoked_as = null, stopped_by = null, finished_at = ${typed('time', at)}, ${decidedSql(trx, by)}
    where seq > ${doneTo} and seq <= ${end} and status || '' in ('draft','queued')
      and project_id || '' in (${sql.join(nameless === 1 ? [project, ''] : [project])})
      and ${batch === null ? sql`true` : sql`batch_id || '' = ${batch}`}`.execute(db)
}

/** A transaction over a million rows would block everyone else. */
const rowsPerWindow = 2000

type QueueWindow = {
  /** Only rows of this batch; null for all. */
  readonly batch: string | null
  /** Range of `seq`: after `after`, up to and including `upTo`. */
  readonly after: number
  readonly upTo: number
}

/**
 * The last `seq` of the next window; null if no rows remain. Updates of a window must select by `seq` and hide the other
 * indexed columns from the planner (`status || ''`): an index on status would read all earlier rows for each window.
 */
export async function findWindowEnd({ db, project }: ProjectDb, { batch, after, upTo }: QueueWindow) {
  const own = batch === null ? sql`true` : sql`project_id = ${project} and batch_id = ${batch}`
  const { rows } = await sql<{ end: number | null }>`
    select max(seq) as "end" from (select seq from writebacks where seq > ${after} and seq <= ${upTo} and ${own}
      order by seq limit ${sql.lit(rowsPerWindow)}) places`.execute(db)
  return rows[0]?.end ?? null
}

/** In force when it returns; null if the batch is so already, or nothing of it could be stopped. */
export function recordBatchDecision(
  context: ProjectDb,
  decision: BatchDecision,
  batch: string,
  by: string,
  { audit, shown }: Pick<DecisionTerms, 'audit' | 'shown'>,
): Promise<{ readonly moved: number; readonly inFlight: number } | { readonly moved: SelectionDigest } | null> {
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

type FollowingBatch = {
  readonly id: string
  readonly stoppedAt: string | null
  readonly doneTo: number
  readonly doneBy: string
}

async function followStop(trx: ProjectDb, lock: RawBuilder<unknown>): Promise<boolean> {
  const { db, project, typed } = trx
  const { rows } = await sql<FollowingBatch>`
    select id, stopped_at as "stoppedAt", done_to as "doneTo", coalesce(done_by, '') as "doneBy" from writeback_batches
    where project_id = ${project} and done_to is not null order by id limit 1 ${lock}`.execute(db)
  const [batch] = rows
  if (batch === undefined) return false
  const end = await findWindowEnd(trx, { batch: batch.id, after: batch.doneTo, upTo: Number.MAX_SAFE_INTEGER })
  if (end !== null) await moveRows(trx, batch, end)
  await sql`update writeback_batches set done_to = ${typed('integer', end)},
    done_by = ${typed('text', end === null ? null : batch.doneBy)}
    where project_id = ${project} and id = ${batch.id}`.execute(db)
  return true
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
