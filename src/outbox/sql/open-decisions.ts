/** Decisions about whole batches that are in force before their rows follow: whether there are any, and what rows count as. */
import { type RawBuilder, sql } from 'kysely'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/** The write-back is cancelled, but its row is not updated yet. */
export const coveredByCancelSql = sql`exists (select 1 from writeback_cancellations decided
  where (decided.project_id = writebacks.project_id or (decided.nameless = 1 and writebacks.project_id = ''))
    and decided.finished_at is null and writebacks.seq > decided.done_to and writebacks.seq <= decided.up_to
    and (decided.batch_id is null or decided.batch_id = writebacks.batch_id))`

/** The row in `writebacks` belongs to a stopped batch. */
export const inStoppedBatchSql = sql`exists (select 1 from writeback_batches stopped
  where stopped.project_id = writebacks.project_id and stopped.id = writebacks.batch_id and stopped.stopped_at is not null)`

/** A draft that was queued when its batch was stopped, and goes on with it. */
export const isStoppedSql = sql`(status = 'draft' and stopped_by is not null)`

/** Whether a cancellation has rows that are not updated yet. */
export async function hasOpenCancellation({ db, project }: ProjectDb): Promise<boolean> {
  const { rows } = await sql`select 1 from writeback_cancellations
    where project_id = ${project} and finished_at is null limit 1`.execute(db)
  return rows.length > 0
}

/** Whether a batch has rows that do not follow its last stop or resumption yet. */
export async function hasOpenStop({ db, project }: ProjectDb): Promise<boolean> {
  const { rows } = await sql`select 1 from writeback_batches
    where project_id = ${project} and done_to is not null limit 1`.execute(db)
  return rows.length > 0
}

/** Whether rows have yet to follow a decision. */
export async function hasOpenDecision(context: ProjectDb): Promise<boolean> {
  return (await hasOpenCancellation(context)) || (await hasOpenStop(context))
}

/** An SQL expression for the status, with decisions that the row does not follow yet. */
export async function effectiveStatus(context: ProjectDb): Promise<RawBuilder<unknown>> {
  const cancelled = (await hasOpenCancellation(context))
    ? sql`when status in ('draft','queued') and ${coveredByCancelSql} then 'cancelled'`
    : sql``
  const stopped = (await hasOpenStop(context))
    ? sql`when status = 'queued' and ${inStoppedBatchSql} then 'draft'
        when ${isStoppedSql} and not ${inStoppedBatchSql} then 'queued'`
    : sql``
  return sql`case ${cancelled} ${stopped} when true then status end`
}
