/**
 * Decisions about a whole batch or everything: cancelling, stopping, going on. Each is one row or
 * column, in force at once, as nothing that it covers can be claimed or sent. The rows follow a few
 * thousand at a time, in whichever process works on the queue.
 */
import { type RawBuilder, sql } from 'kysely'
import { appendEvent } from '../../warehouse/audit-log.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock, countRowsOf, readClock } from '../../warehouse/dialect.ts'
import { newId, type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction, retryOnDeadlock } from '../../warehouse/transactions.ts'
import type { DecisionTerms, SelectionDigest } from '../core/decision-terms.ts'
import { type BatchDecision, decisions } from '../core/decisions.ts'
import { lockSelection } from './entries.ts'
import {
  coveredByCancelSql,
  decidedSql,
  findOpenDecisions,
  isStoppedSql,
  takeClaimSql,
} from './row.ts'

/** Of what a decision has changed: the first ones. */
export const idsReturned = 1000

/** No process can be sending these. */
const unsentSql = sql`status in ('draft','queued')`

/**
 * In Postgres, waits for sends that are being recorded, and blocks later ones until they see it.
 * SQLite allows one write transaction at a time anyway.
 */
export async function acquireCancellationLock(
  { db, kind, project }: ProjectDb,
  mode: 'shared' | 'exclusive',
) {
  await acquireLock(db, kind, `deskmirror.cancel ${project}`, mode)
}

/** Returns how many rows and the first thousand ids. `revokeSending`: marks those in flight. */
export function recordCancellation(
  context: ProjectDb,
  {
    batch,
    orWithoutProject,
    by,
    audit,
  }: Pick<DecisionTerms, 'by' | 'audit'> & {
    readonly batch: string | null
    readonly orWithoutProject: boolean
  },
  revokeSending: (trx: ProjectDb) => Promise<void>,
): Promise<{ readonly count: number; readonly ids: readonly string[] }> {
  return inDurableTransaction(context, async (trx) => {
    const { db, project, typed } = trx
    const now = toTimeValue(trx)
    await acquireCancellationLock(trx, 'exclusive')
    const isAlreadyCancelled = (await findOpenDecisions(trx)).cancellation
      ? coveredByCancelSql
      : sql`false`
    const covered = sql`project_id in (${sql.join(orWithoutProject ? [project, ''] : [project])})
      and ${unsentSql}
      and not ${isAlreadyCancelled} and ${batch === null ? sql`true` : sql`batch_id = ${batch}`}`
    const first = await sql<{
      id: string
    }>`select id from writebacks where ${covered} limit ${sql.lit(idsReturned)}`.execute(db)
    const count = await countRowsOf(db, sql`writebacks where ${covered}`)
    const last = await sql<{
      seq: number
    }>`select coalesce(max(seq), 0) as seq from writebacks`.execute(db)
    if (count > 0)
      await sql`insert into writeback_cancellations
        (project_id, id, batch_id, includes_rows_without_project, up_to, done_to, cancelled_at,
        cancelled_by)
        values (${project}, ${newId(trx.clock())}, ${typed('text', batch)},
        ${sql.lit(orWithoutProject ? 1 : 0)},
          ${last.rows[0]?.seq ?? 0}, 0, ${now}, ${by})`.execute(db)
    await revokeSending(trx)
    if (audit !== undefined) await appendEvent(db, audit(count), trx.clock())
    return { count, ids: first.rows.map(({ id }) => id) }
  })
}

/** What has to follow a decision: the rows of a window, and then the mark up to which all have. */
type Following = {
  readonly window: QueueWindow
  readonly update: (end: number) => RawBuilder<unknown>
  /** Null: no rows are left. */
  readonly mark: (end: number | null) => RawBuilder<unknown>
}

/** Until `until` (by `performance.now`) at most. True if all follow. Lost updates are repeated. */
export async function followDecisions(context: ProjectDb, until: number): Promise<boolean> {
  const { db, kind } = context
  const followNext = async (trx: Db, findNext: typeof nextCancellation) => {
    const own = { ...context, db: trx, clock: await readClock(trx, kind) }
    const next = await findNext(own, kind === 'postgres' ? sql`for update skip locked` : sql``)
    // Another process is doing it.
    if (next === null) return false
    const end = await findWindowEnd(own, next.window)
    if (end !== null) await next.update(end).execute(trx)
    await next.mark(end).execute(trx)
    return true
  }
  const decided = [
    ['cancellation', nextCancellation],
    ['stop', nextStop],
  ] as const
  for (const [open, findNext] of decided) {
    while ((await findOpenDecisions(context))[open]) {
      if (performance.now() > until) return false
      const once = () => db.transaction().execute((trx) => followNext(trx, findNext))
      if (!(await retryOnDeadlock(once))) return false
      // Lets other work use SQLite's single connection in between.
      await new Promise(setImmediate)
    }
  }
  return true
}

async function nextCancellation(
  trx: ProjectDb,
  lock: RawBuilder<unknown>,
): Promise<Following | null> {
  const { db, project, typed } = trx
  const { rows } = await sql<{
    id: string
    batch: string | null
    orWithoutProject: number
    upTo: number
    doneTo: number
    at: string
    by: string
  }>`
    select id, batch_id as batch, includes_rows_without_project as "orWithoutProject",
    up_to as "upTo",
      done_to as "doneTo", cancelled_at as at, cancelled_by as by from writeback_cancellations
    where project_id = ${project} and finished_at is null order by id limit 1 ${lock}`.execute(db)
  const [open] = rows
  if (open === undefined) return null
  const { id, batch, orWithoutProject, upTo, doneTo, at, by } = open
  const why = `cancelled by ${by}`
  return {
    window: { batch, after: doneTo, upTo },
    update: (
      end,
    ) => sql`update writebacks set status = 'cancelled', reason = ${why}, error = ${why},
      ${takeClaimSql}, due_at = null, revoked_as = null,
      stopped_by = null, finished_at = ${typed('time', at)}, ${decidedSql(trx, by)}
      where seq > ${doneTo} and seq <= ${end} and status || '' in ('draft','queued')
        and project_id || '' in (${sql.join(orWithoutProject === 1 ? [project, ''] : [project])})
        and ${batch === null ? sql`true` : sql`batch_id || '' = ${batch}`}`,
    mark: (end) => sql`update writeback_cancellations set done_to = ${end ?? upTo},
      finished_at = ${end === null ? toTimeValue(trx) : sql`null`} where project_id = ${project}
      and id = ${id}`,
  }
}

/** The grace of an approval goes on meanwhile. */
async function nextStop(trx: ProjectDb, lock: RawBuilder<unknown>): Promise<Following | null> {
  const { db, project, typed } = trx
  const { rows } = await sql<{ id: string; stoppedAt: string | null; doneTo: number; by: string }>`
    select id, stopped_at as "stoppedAt", done_to as "doneTo", coalesce(done_by, '') as by
    from writeback_batches
    where project_id = ${project} and done_to is not null order by id limit 1 ${lock}`.execute(db)
  const [batch] = rows
  if (batch === undefined) return null
  const { id, stoppedAt, doneTo, by } = batch
  const isStop = stoppedAt !== null
  const why = `${decisions[isStop ? 'stop' : 'resume'].logged} by ${by}`
  const changes = isStop
    ? sql`status = 'draft', stopped_by = ${by}, due_at = null`
    : sql`status = 'queued', stopped_by = null, due_at = case when undo_until > ${trx.clock()}
      then undo_until end`
  const isAffected = isStop
    ? sql`status || '' = 'queued'`
    : sql`status || '' = 'draft' and stopped_by is not null`
  return {
    window: { batch: id, after: doneTo, upTo: Number.MAX_SAFE_INTEGER },
    update: (end) => sql`update writebacks set ${changes}, reason = ${why}, postponed = null,
      ${takeClaimSql}, ${decidedSql(trx, by)}
      where seq > ${doneTo} and seq <= ${end} and ${isAffected} and project_id || '' = ${project}
        and batch_id || '' = ${id}`,
    mark: (end) => sql`update writeback_batches set done_to = ${typed('integer', end)},
      done_by = ${typed('text', end === null ? null : by)} where project_id = ${project}
      and id = ${id}`,
  }
}

/** A transaction over a million rows would block everyone else. */
const rowsPerWindow = 2000

/** Rows of this batch, or all, in a range of `seq`: after `after`, up to and including `upTo`. */
type QueueWindow = { readonly batch: string | null; readonly after: number; readonly upTo: number }

/**
 * Null if no rows remain. Updates of a window must select by `seq` and hide other indexed columns
 * (`status || ''`): an index on status would read all earlier rows for each window.
 */
export async function findWindowEnd(
  { db, project }: ProjectDb,
  { batch, after, upTo }: QueueWindow,
) {
  const own = batch === null ? sql`true` : sql`project_id = ${project} and batch_id = ${batch}`
  const { rows } = await sql<{ end: number | null }>`
    select max(seq) as "end" from (select seq from writebacks where seq > ${after}
    and seq <= ${upTo} and ${own}
      order by seq limit ${sql.lit(rowsPerWindow)}) places`.execute(db)
  return rows[0]?.end ?? null
}

/**
 * In force when it returns; rows follow. Null if the batch is so already, or nothing of it could be
 * stopped; there may be no such batch.
 */
export async function decideBatch(
  context: ProjectDb,
  decision: BatchDecision,
  batch: string,
  by: string,
  { audit, shown }: Pick<DecisionTerms, 'audit' | 'shown'> = {},
) {
  if (shown !== undefined) await followDecisions(context, Number.POSITIVE_INFINITY)
  const record = async (
    trx: ProjectDb,
  ): Promise<{ moved: number; inFlight: number } | { moved: SelectionDigest } | null> => {
    const { db, project, typed } = trx
    // As for a cancellation.
    await acquireCancellationLock(trx, 'exclusive')
    if (shown !== undefined) {
      const { ids: _, ...now } = await lockSelection(trx, shown.filter)
      if (now.digest !== shown.digest) return { moved: now }
    }
    const { rows } = await sql<{ queued: number; stopped: number; sending: number }>`
      select count(case when status = 'queued' then 1 end) as queued,
        count(case when ${isStoppedSql} then 1 end) as stopped,
        count(case when status = 'sending' then 1 end) as sending
      from writebacks where project_id = ${project} and batch_id = ${batch}`.execute(db)
    const { queued = 0, stopped = 0, sending = 0 } = rows[0] ?? {}
    const isStop = decision === 'stopped'
    if (isStop && queued + sending === 0) return null
    const person = typed('text', by)
    const none = sql`null`
    const { numAffectedRows } = await sql`
      update writeback_batches set stopped_at = ${isStop ? toTimeValue(trx) : none},
      stopped_by = ${isStop ? person : none},
        done_to = 0, done_by = ${person}
      where project_id = ${project} and id = ${batch}
      and stopped_at is ${isStop ? none : sql`not null`}`.execute(db)
    if (numAffectedRows === 0n) return null
    const moved = isStop ? queued : queued + stopped
    if (audit !== undefined) await appendEvent(db, audit(moved), trx.clock())
    return { moved, inFlight: sending }
  }
  const result = await inDurableTransaction(context, record)
  return result === null || !('inFlight' in result) ? result : followFor(context, result)
}

/** A person waits, and the decision is in force already; the remaining rows follow later. */
const applyForMs = 5500

export async function followFor<T extends object>(
  context: ProjectDb,
  result: T,
): Promise<T & { following?: true }> {
  const isApplied = await followDecisions(context, performance.now() + applyForMs)
  return isApplied ? result : { ...result, following: true as const }
}

/** Who stopped the batch; null if it is not stopped. Call it under the lock of cancellations. */
export async function findStop(
  { db, project }: ProjectDb,
  batch: string | null,
): Promise<string | null> {
  if (batch === null) return null
  const { rows } = await sql<{ by: string }>`
    select coalesce(stopped_by, '') as by from writeback_batches
    where project_id = ${project} and id = ${batch} and stopped_at is not null`.execute(db)
  return rows[0]?.by ?? null
}
