/** Whose turn it is among the write-backs of one project, over SQL. */
import { type RawBuilder, sql } from 'kysely'
import type { Part, Ready } from '../../core/outbox/outbox.ts'
import { holding } from '../../core/outbox/state.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Context } from '../mirror/context.ts'
import { isDead } from './owner.ts'

type C = Pick<Context, 'db' | 'kind' | 'project'>

/** Nobody puts anything off for longer: what is due later was written by a clock that has been set back since. */
const longestRestMs: Ms = 30 * 86_400_000

/** Nothing of the same lane that was queued before is unsettled. */
const isFirst = sql`not exists (select 1 from writebacks before where before.project_id = writebacks.project_id
  and before.lane = writebacks.lane and before.seq < writebacks.seq
  and before.status in (${sql.join(holding.map((status) => sql.lit(status)))}))`

/** A retry or an approval may put one in front of one that is under way: that one is waited for. */
const isAlone = sql`not exists (select 1 from writebacks other where other.project_id = writebacks.project_id
  and other.lane = writebacks.lane and other.seq > writebacks.seq and other.status = 'sending')`

/** The order of its lane allows it to leave. */
export const hasItsTurn = sql`${isFirst} and ${isAlone}`

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

/** It can be worked on now. */
export async function isReady(c: C, now: EpochMs): Promise<RawBuilder<unknown>> {
  return sql`status in ('queued','sending') and ${isDue(now)} and ${await isFree(c, now)} and ${hasItsTurn}`
}

export async function ready(c: C, now: EpochMs, limit: number, of: Part = {}): Promise<Ready[]> {
  const { rows } = await sql<Ready>`
    select id, lane, operation, status, batch_id as "batchId" from writebacks
    where project_id = ${c.project} and ${isIn(of)} and ${await isReady(c, now)}
    order by seq limit ${limit}`.execute(c.db)
  return rows
}

export async function isPending(c: C, of: Part = {}): Promise<boolean> {
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
