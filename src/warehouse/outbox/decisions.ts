/** What people decide about write-backs, over SQL: durable, a row of the log each, and some thousands at a time. */
import { type RawBuilder, sql } from 'kysely'
import type { Decided, Filter } from '../../core/outbox/desk.ts'
import { type Decision, next, type State, type Status, states, toStored } from '../../core/outbox/state.ts'
import { rfc3339 } from '../../core/time.ts'
import { bound } from '../database/dialect.ts'
import { durably } from '../database/durable.ts'
import type { Db } from '../database/session.ts'
import type { Context } from '../mirror/context.ts'
import { follow, record } from './cancellations.ts'
import { fits } from './filter.ts'
import { seenNow } from './seen.ts'
import { windowEnd } from './window.ts'

type C = Pick<Context, 'db' | 'kind' | 'project' | 'clock'>

/** What the log says of it. */
const reasons: Readonly<Record<Decision, (by: string) => string>> = {
  approved: (by) => `approved by ${by}`,
  cancelled: (by) => `cancelled by ${by}`,
  retried: (by) => `to be sent again, says ${by}`,
  arrived: (by) => `it arrived, says ${by}`,
  lost: (by) => `it did not arrive, says ${by}`,
}

/** Somebody waits for the answer, which is true already; the rest of the rows follow later. */
const followForMs = 5500

export async function decide(c: C, decision: Decision, filter: Filter, by: string): Promise<Decided> {
  const { ids, batch = null } = filter
  if (decision === 'cancelled' && ids === undefined) return cancelAll(c, filter, by)
  // What has yet to follow a cancellation would be missed, or counted as what it is not.
  await follow(c, Number.POSITIVE_INFINITY)
  const change = (trx: Db, among: RawBuilder<unknown>) => decideOn(c, trx, { decision, filter, by, among })
  if (ids !== undefined) {
    const moved = await durably(c.db, c.kind, (trx) => change(trx, sql`project_id = ${c.project}`))
    return { count: moved.length, ids: moved.slice(0, 1000) }
  }
  let [count, first, after] = [0, [] as readonly string[], 0]
  const upTo = Number.MAX_SAFE_INTEGER
  for (let end = 0; ; after = end) {
    const found = await windowEnd(c.db, { project: c.project, batch, after, upTo })
    if (found === null) return { count, ids: first }
    end = found
    const among = sql`seq > ${after} and seq <= ${end} and project_id || '' = ${c.project}`
    const moved = await durably(c.db, c.kind, (trx) => change(trx, among))
    count += moved.length
    if (first.length < 1000) first = [...first, ...moved].slice(0, 1000)
  }
}

async function cancelAll(c: C, filter: Filter, by: string): Promise<Decided> {
  const { batch = null, nameless = false } = filter
  const onTheirWay = sql`project_id = ${c.project} and status in ('sending','uncertain')`
  const decided = await record(c, { batch, nameless, by }, async (trx) => {
    await decideOn(c, trx, { decision: 'cancelled', filter, by, among: onTheirWay })
  })
  const hasFollowed = await follow(c, performance.now() + followForMs)
  return hasFollowed ? decided : { ...decided, following: true }
}

/** What is on its way is not sent again; what waits stays as it is. */
export async function recall(c: C, by: string): Promise<void> {
  const among = sql`project_id = ${c.project} and status = 'sending' and revoked_as is null`
  await durably(c.db, c.kind, (trx) => decideOn(c, trx, { decision: 'cancelled', filter: {}, by, among }))
}

type On = {
  readonly decision: Decision
  readonly filter: Filter
  readonly by: string
  readonly among: RawBuilder<unknown>
}

/**
 * One statement, so that none that goes from one status to the other meanwhile is missed. Whoever works on one just now loses
 * it: the claim's number grows, and nothing may leave under the old one. What is on its way stays with whoever sent it.
 */
async function decideOn(c: C, trx: Db, { decision, filter, by, among }: On): Promise<readonly string[]> {
  const moves = states.flatMap((from) => {
    const to = next(from, decision)
    return to === null ? [] : [{ from, to }]
  })
  const targets = moves.filter(({ from, to }) => toStored(from).status !== toStored(to).status).map(({ from }) => from)
  const moved = isAny(targets)
  const [target] = moves.map(({ to }) => toStored(to).status).filter((status) => becomes[decision] === status)
  if (target === undefined) return []
  const why = reasons[decision](by)
  const now = bound(c.kind, 'time', rfc3339(Math.floor(c.clock() / 1000)))
  const again = sql`, evidence = null, expect = null, seen = ${seenNow(c, 'writebacks')},
    expires_at = case when expires_at > ${now} then expires_at end`
  const { rows } = await sql<{ id: string; status: Status }>`
    update writebacks set status = case when ${moved} then ${target} else status end,
      revoked_as = case when ${moved} then null else ${bound(c.kind, 'text', decision === 'cancelled' ? 'cancelled' : null)} end,
      step = case when ${moved} or status = 'sending' then ${why} else step end,
      error = case when ${moved} then ${bound(c.kind, 'text', target === 'failed' ? why : null)} else error end,
      finished_at = case when ${moved} then ${target === 'queued' ? sql`null` : now} else finished_at end,
      epoch = epoch + case when ${moved} then 1 else 0 end,
      owner = case when ${moved} then null else owner end,
      lease_until = case when ${moved} then null else lease_until end,
      due_at = case when ${moved} then null else due_at end ${decision === 'retried' ? again : sql``}
    where ${among} and ${isAny(moves.map(({ from }) => from))} and ${fits(filter)}
      and ${isDecidable(decision, filter)} returning id, status`.execute(trx)
  return rows.filter(({ status }) => status === target).map(({ id }) => id)
}

/** The status that a decision leads to; one that is on its way may keep its own. */
const becomes: Readonly<Record<Decision, Status>> = {
  approved: 'queued',
  cancelled: 'cancelled',
  retried: 'queued',
  arrived: 'succeeded',
  lost: 'failed',
}

/** What became of one that is looked for can be said where it is meant itself, and nobody waits for its answer any more. */
function isDecidable(decision: Decision, { ids }: Filter): RawBuilder<unknown> {
  if (decision !== 'arrived' && decision !== 'lost') return sql`true`
  return ids === undefined ? sql`status <> 'sending'` : sql`(status <> 'sending' or owner is null)`
}

function isAny(some: readonly State[]): RawBuilder<unknown> {
  const one = (state: State) => {
    const { status, revokedAs } = toStored(state)
    if (revokedAs !== null) return sql`(status || '' = ${status} and revoked_as = ${revokedAs})`
    const isPlain = status === 'sending' || status === 'uncertain' ? sql`revoked_as is null` : sql`true`
    return sql`(status || '' = ${status} and ${isPlain})`
  }
  return some.length === 0 ? sql`false` : sql`(${sql.join(some.map(one), sql` or `)})`
}
