/** Reads batches for people, and keeps the time at which each was finished. */
import { type RawBuilder, sql } from 'kysely'
import type { EpochMs, EpochSeconds } from '../../values/time.ts'
import { countRowsOf, epochSeconds, inList } from '../../warehouse/dialect.ts'
import { type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { retryOnDeadlock } from '../../warehouse/transactions.ts'
import type { Batch, BatchState, BatchSummary } from '../core/batches.ts'
import { openStatuses, type StatusCounts, type WritebackStatus } from '../core/state.ts'
import { lastEventSeq, successSql } from './lane-history.ts'
import { decodeTexts, effectiveStatus, operationSql, statusesSql } from './row.ts'

const batchColumns = sql`id, title, source, note, rows, created_at as "createdAt",
  created_by as "createdBy",
  approved_at as "approvedAt", approved_by as "approvedBy", stopped_at as "stoppedAt",
  stopped_by as "stoppedBy", reverts,
  finished_at as "finishedAt"`

export async function listBatches(
  context: ProjectDb,
  limit: number,
  before?: Pick<Batch, 'id' | 'createdAt'>,
): Promise<BatchSummary[]> {
  const { typed } = context
  const isOlder =
    before === undefined
      ? sql`true`
      : sql`(created_at < ${typed('time', before.createdAt)}
        or (created_at = ${typed('time', before.createdAt)} and id < ${before.id}))`
  return readBatches(context, isOlder, limit)
}

export async function findBatch(context: ProjectDb, id: string): Promise<BatchSummary | null> {
  if (context.kind === 'postgres' && id.includes('\0')) return null
  return (await readBatches(context, sql`id = ${id}`, 1))[0] ?? null
}

/** Those that wait for a person: they are stopped, or some of their rows wait for a decision. */
export async function listUndecidedBatches(
  context: ProjectDb,
  limit: number,
): Promise<BatchSummary[]> {
  const hasUndecided = hasRowsSql(sql`'draft','uncertain'`)
  return readBatches(
    context,
    sql`finished_at is null and (stopped_at is not null or ${hasUndecided})`,
    limit,
  )
}

export async function listStoppedBatches(
  context: ProjectDb,
  limit: number,
): Promise<BatchSummary[]> {
  return readBatches(context, sql`stopped_at is not null`, limit)
}

/**
 * Rows that concern a person: drafts that nobody has stopped, what is uncertain, and what failed or
 * met a conflict since then. By batch; empty: they belong to none. `newest`: when the last of them
 * was settled.
 */
export async function countUndecided(context: ProjectDb, since: EpochMs) {
  const { db, kind, project } = context
  const status = await effectiveStatus(context)
  const { rows } = await sql<{
    status: WritebackStatus
    batch: string
    count: number
    newest: EpochSeconds | null
  }>`
    select ${status} as status, coalesce(batch_id, '') as batch, count(*) as count,
      max(${epochSeconds(kind, 'finished_at')}) as newest
    from writebacks
    where project_id = ${project} and status in ('draft','uncertain','failed','conflict')
      and (status <> 'draft' or stopped_by is null)
      and (status not in ('failed','conflict') or finished_at > ${toTimeValue(context, since)})
    group by 1, 2`.execute(db)
  return rows
}

async function readBatches(
  context: ProjectDb,
  condition: RawBuilder<unknown>,
  limit: number,
): Promise<BatchSummary[]> {
  const { db, kind, project } = context
  const { rows } = await sql<Batch>`select ${batchColumns} from writeback_batches
    where project_id = ${project} and ${condition} order by created_at desc, id desc
    limit ${limit}`.execute(db)
  const ids = rows.map(({ id }) => id)
  const status = await effectiveStatus(context)
  const { rows: counted } = await sql<{
    batch: string
    status: WritebackStatus
    count: number
    settled: string | null
  }>`
    select batch_id as batch, ${status} as status, count(*) as count, max(finished_at) as settled
    from writebacks
    where project_id = ${project} and batch_id ${inList(kind, ids)} group by 1, 2`.execute(db)
  const countsOf = Map.groupBy(counted, ({ batch }) => batch)
  return rows.map((stored) => {
    const own = countsOf.get(stored.id) ?? []
    const counts: StatusCounts = Object.fromEntries(own.map(({ status, count }) => [status, count]))
    const { title, source, note, createdBy } = stored
    const batch = { ...stored, ...decodeTexts({ title, source, note, createdBy }) }
    const state = toBatchState(batch, counts)
    // The column is set a little later.
    const settledAt = own.flatMap(({ settled }) => settled ?? []).sort()
    const finishedAt = state === 'done' ? (batch.finishedAt ?? settledAt.at(-1) ?? null) : null
    return { ...batch, finishedAt, counts, state }
  })
}

export async function listBatchNames({ db, project }: ProjectDb, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from writeback_batches
    where project_id = ${project} order by created_at desc, id desc limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Without those that were given up: cancelled before anything of them was sent. */
async function findReverts({ db, project }: ProjectDb, id: string) {
  const { rows } = await sql<{ id: string; coveredTo: number }>`
    select writeback_batches.id, max(${lastEventSeq(sql`event.from_status is null`)}) as "coveredTo"
    from writeback_batches join writebacks on writebacks.project_id = writeback_batches.project_id
      and writebacks.batch_id = writeback_batches.id
    where writeback_batches.project_id = ${project} and reverts = ${id}
    group by writeback_batches.id having count(case when status <> 'cancelled' then 1 end) > 0
    order by 2 desc`.execute(db)
  return { newest: rows[0]?.id ?? null, coveredTo: rows[0]?.coveredTo ?? 0 }
}

export async function findRevertOf(context: ProjectDb, id: string): Promise<string | null> {
  return (await findReverts(context, id)).newest
}

/** What succeeded after the batch was last taken back. */
export async function notRevertedSql(context: ProjectDb, id: string): Promise<RawBuilder<unknown>> {
  const { coveredTo } = await findReverts(context, id)
  return coveredTo === 0 ? sql`true` : sql`${lastEventSeq(successSql)} > ${coveredTo}`
}

/** What arrived, can be taken back, and is not yet. */
export async function countRevertible(context: ProjectDb, id: string): Promise<number> {
  const isRevertible = operationSql(({ notRevertible }) => notRevertible === null)
  const from = sql`writebacks where project_id = ${context.project} and batch_id = ${id}
    and status = 'succeeded' and ${isRevertible} and erased_at is null
    and ${await notRevertedSql(context, id)}`
  return countRowsOf(context.db, from)
}

const hasRowsSql = (statuses: RawBuilder<unknown>) => sql`exists (select 1 from writebacks
  where writebacks.project_id = writeback_batches.project_id
  and writebacks.batch_id = writeback_batches.id
    and writebacks.status in (${statuses}))`

/** Stores when batches were finished whose last write-back was settled. */
export async function recordFinishedBatches({ db, project }: ProjectDb): Promise<void> {
  const settled = sql`(select max(finished_at) from writebacks
    where writebacks.project_id = writeback_batches.project_id
    and writebacks.batch_id = writeback_batches.id)`
  const finished = sql`update writeback_batches set finished_at = ${settled}
    where project_id = ${project} and finished_at is null and rows > 0
    and not ${hasRowsSql(statusesSql(openStatuses))}`
  await retryOnDeadlock(() => finished.execute(db))
}
recordFinishedBatches.mayRepeat = true as const

/** Stopped as long as something waits; what is in flight comes before what waits for approval. */
function toBatchState({ stoppedAt }: Pick<Batch, 'stoppedAt'>, counts: StatusCounts): BatchState {
  const { draft = 0, queued = 0, sending = 0, uncertain = 0 } = counts
  if (draft + queued + sending + uncertain === 0) return 'done'
  if (stoppedAt !== null && draft + queued > 0) return 'stopped'
  if (queued + sending > 0) return 'sending'
  return draft > 0 ? 'draft' : 'uncertain'
}

/** Where a batch stands in the queue: what is sent before it, and until when it rests. */
export async function countQueuedEarlier(
  { db, project }: ProjectDb,
  batch: string,
): Promise<number> {
  const from = sql`writebacks where project_id = ${project} and status in ('queued','sending')
    and batch_id is distinct from ${batch} and seq < (select min(seq) from writebacks own
      where own.project_id = ${project} and own.batch_id = ${batch}
      and own.status in ('draft','queued','sending'))`
  return countRowsOf(db, from)
}
