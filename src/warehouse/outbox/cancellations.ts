/**
 * Cancellations of a batch or of everything. A cancellation is one row and takes effect at once, as no covered
 * write-back can be sent. The covered rows are updated a few thousand at a time by whichever process works on the queue.
 */
import { sql } from 'kysely'
import type { DecisionTerms } from '../../core/outbox/admin.ts'
import { appendEvent } from '../console/audit-log.ts'
import type { Db } from '../database/connection-pool.ts'
import { acquireLock } from '../database/dialect.ts'
import { inDurableTransaction, retryOnDeadlock } from '../database/durable-transaction.ts'
import { newId } from '../database/new-id.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { coveredByCancelSql, hasOpenCancellation } from './open-decisions.ts'
import { decidedSql, toTimeValue } from './row.ts'

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

/** Updates covered rows until none is left, or until `until` (by `performance.now`). True if none is left. */
export async function applyCancellations(context: ProjectDb, until: number): Promise<boolean> {
  while (await hasOpenCancellation(context)) {
    if (performance.now() > until || !(await applyNextWindow(context))) return false
    // Lets other work use SQLite's single connection in between.
    await new Promise(setImmediate)
  }
  return true
}

/** False if another process is doing it. Needs no durable commit: the cancellation is durable, and lost updates are redone. */
function applyNextWindow(context: ProjectDb): Promise<boolean> {
  const { project } = context
  const skip = context.kind === 'postgres' ? sql`for update skip locked` : sql``
  const once = async (db: Db) => {
    const trx = { ...context, db }
    const { rows } = await sql<OpenCancellation>`
      select id, batch_id as batch, nameless, up_to as "upTo", done_to as "doneTo", cancelled_at as at,
        cancelled_by as by from writeback_cancellations
      where project_id = ${project} and finished_at is null order by id limit 1 ${skip}`.execute(db)
    const [open] = rows
    if (open === undefined) return false
    const end = await findWindowEnd(trx, { ...open, after: open.doneTo })
    if (end !== null) await cancelRows(trx, open, end)
    const finishedAt = end === null ? toTimeValue(context) : sql`null`
    await sql`update writeback_cancellations set done_to = ${end ?? open.upTo}, finished_at = ${finishedAt}
      where project_id = ${project} and id = ${open.id}`.execute(db)
    return true
  }
  return retryOnDeadlock(() => context.db.transaction().execute(once))
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
