/** What people do with the outbox (the queue of write-backs): enqueue, look up and decide. Each decision is durable and logged. */
import { sql } from 'kysely'
import { inDurableTransaction } from '../../warehouse/durable-transaction.ts'
import { ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import type { BlockedLane } from '../core/admin.ts'
import {
  countAhead,
  countRevertible,
  findBatch,
  findRest,
  findRevertOf,
  listBatches,
  listBatchNames,
  listStoppedBatches,
} from './batches.ts'
import { decide, decideBatch, decideShown, revokeSending } from './decisions.ts'
import { enqueue, findDuplicateRefs, importedAs, readQueueMark } from './enqueue.ts'
import {
  countByOperation,
  countByStatus,
  digestOf,
  findIds,
  groupReasons,
  list,
  listEvents,
  listLatestEvents,
  listNewest,
  readSelection,
} from './entries.ts'
import { toTimeValue } from './row.ts'

export type OutboxAdmin = ReturnType<typeof createOutboxAdmin>

export function createOutboxAdmin(context: ProjectDb) {
  return ofProject(context, {
    ...{ enqueue, readQueueMark, importedAs, findDuplicateRefs },
    ...{ findIds, list, listNewest, listEvents, listLatestEvents, countByStatus, countByOperation, groupReasons },
    ...{
      listBatches,
      findBatch,
      listBatchNames,
      listStoppedBatches,
      countAhead,
      findRest,
      countRevertible,
      findRevertOf,
    },
    ...{ readSelection, digestOf, decide, decideShown, decideBatch, revokeSending },
    ...{ listBlockedLanes, assignProject },
  })
}

/** Lanes blocked by an uncertain write-back, and how many write-backs wait behind it. */
async function listBlockedLanes({ db, project }: ProjectDb): Promise<BlockedLane[]> {
  const { rows } = await sql<BlockedLane>`
    select id, operation, coalesce(conversation_id, visitor_id) as target,
      (select count(*) from writebacks behind where behind.project_id = writebacks.project_id
        and behind.lane = writebacks.lane and behind.seq > writebacks.seq and behind.status = 'queued') as waiting
    from writebacks where project_id = ${project} and status = 'uncertain' order by seq limit 1000`.execute(db)
  return [...rows]
}

/**
 * Assigns rows that were inserted by SQL without a project to this project, if the warehouse holds no other. Returns how
 * many. A row whose ref was queued before is cancelled.
 */
async function assignProject(context: ProjectDb): Promise<number> {
  const { rows } = await sql`select 1 from writebacks where project_id = '' limit 1`.execute(context.db)
  if (rows.length === 0) return 0
  return inDurableTransaction(context, async (trx) => {
    const { db, project } = trx
    const others = await sql`select 1 from sync_streams where project_id <> ${project} limit 1`.execute(db)
    if (others.rows.length > 0) return 0
    // A row whose id already exists in the project is a duplicate and is left alone.
    const assignable = sql`project_id = '' and not exists (select 1 from writebacks same
      where same.project_id = ${project} and same.id = writebacks.id)`
    const known = sql`exists (select 1 from writebacks known
      where known.project_id = ${project} and known.ref = writebacks.ref)`
    await sql`update writeback_events set project_id = ${project} where project_id = '' and writeback_id in
      (select id from writebacks where ${assignable})`.execute(db)
    const why = 'its ref was queued before'
    await sql`update writebacks set project_id = ${project}, ref = null, status = 'cancelled', step = ${why}, error = ${why},
      finished_at = ${toTimeValue(trx)} where ${assignable} and ${known}`.execute(db)
    const { numAffectedRows } = await sql`update writebacks set project_id = ${project} where ${assignable}`.execute(db)
    await assignBatches({ ...context, db })
    return Number(numAffectedRows ?? 0n)
  })
}

/** Batches of rows without a project move with their rows. */
async function assignBatches({ db, project }: ProjectDb): Promise<void> {
  const isAffected = sql`exists (select 1 from writeback_batches nameless
    where nameless.project_id = '' and nameless.id = writebacks.batch_id)`
  await sql`insert into writeback_batches (project_id, id, rows, created_at, created_by)
    select project_id, batch_id, count(*), min(created_at), min(created_by) from writebacks
    where project_id = ${project} and batch_id is not null and ${isAffected} group by project_id, batch_id
    on conflict (project_id, id) do update set rows = excluded.rows, finished_at = null,
      done_to = case when writeback_batches.stopped_at is not null then 0 else writeback_batches.done_to end`.execute(
    db,
  )
  await sql`delete from writeback_batches where project_id = '' and not exists (select 1 from writebacks
    where writebacks.project_id = '' and writebacks.batch_id = writeback_batches.id)`.execute(db)
}
