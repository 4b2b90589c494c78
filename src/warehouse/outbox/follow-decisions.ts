/** Decisions about whole batches are in force before their rows follow: what rows count as until then, and following. */
import { type RawBuilder, sql } from 'kysely'
import type { ProjectDb } from '../database/project-db.ts'
import { applyStops, hasOpenStop, inStoppedBatchSql } from './batch-stops.ts'
import { applyCancellations, coveredByCancelSql, hasOpenCancellation } from './cancellations.ts'
import { isStoppedSql } from './filter.ts'

/** Whether rows have yet to follow a decision. */
export async function hasOpenDecision(context: ProjectDb): Promise<boolean> {
  return (await hasOpenCancellation(context)) || (await hasOpenStop(context))
}

/** Updates rows until all follow, or until `until` (by `performance.now`). True if all follow. */
export async function followDecisions(context: ProjectDb, until: number): Promise<boolean> {
  return (await applyCancellations(context, until)) && (await applyStops(context, until))
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
