/** What people do with the queue of write-backs, over SQL. Each decision is durable and becomes a row of the log. */
import { type RawBuilder, sql } from 'kysely'
import type { Enqueue, Enqueued, Filter, HeldLane, QueueDesk, QueueEntry, QueueEvent } from '../../core/outbox/desk.ts'
import type { Status, StatusCounts } from '../../core/outbox/state.ts'
import { aboutWhat, type Wish } from '../../core/outbox/wish.ts'
import { rfc3339 } from '../../core/time.ts'
import { bound } from '../database/dialect.ts'
import { durably, durablyOnce } from '../database/durable.ts'
import { decodeJson, decodeText, encodeJson, encodeText } from '../database/escape.ts'
import { newId } from '../database/identity.ts'
import type { Db } from '../database/session.ts'
import type { Context } from '../mirror/context.ts'
import { statusNow } from './cancellations.ts'
import { decide, recall } from './decisions.ts'
import { fits } from './filter.ts'
import { seenNow } from './seen.ts'

type C = Pick<Context, 'db' | 'kind' | 'project' | 'clock'>

export function queueDeskOf(c: C): QueueDesk {
  return {
    enqueue: (wishes, how, digest) => enqueue(c, wishes, how, digest),
    importedAs: (digest) => importedBefore(c, c.db, digest),
    knownRefs: (refs) => knownRefs(c, refs),
    named: (beginning) => named(c, beginning),
    list: (filter, limit, afterSeq = 0) => list(c, filter, sql`seq > ${afterSeq}`, sql`order by seq limit ${limit}`),
    newest: (filter, limit) => list(c, filter, sql`true`, sql`order by seq desc limit ${limit}`),
    events: (id) => events(c, id),
    summary: (filter) => summary(c, filter),
    decide: (decision, filter, by) => decide(c, decision, filter, by),
    recall: (by) => recall(c, by),
    heldLanes: () => heldLanes(c),
    adopt: () => adopt(c),
  }
}

async function enqueue(
  c: C,
  wishes: AsyncIterable<readonly Wish[]>,
  how: Enqueue,
  digest?: string,
): Promise<Enqueued | { readonly importedAs: string }> {
  return durablyOnce(c.db, c.kind, async (trx) => {
    if (c.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtext(${`deskmirror.import ${c.project}`}))`.execute(trx)
    const before = digest === undefined ? null : await importedBefore(c, trx, digest)
    if (before !== null) return { importedAs: before }
    let given = 0
    let queued = 0
    const ids: string[] = []
    for await (const portion of wishes) {
      given += portion.length
      const inserted = await insert(c, trx, portion, how)
      queued += inserted.length
      // Whoever queues one wants to know its id; nobody reads a hundred thousand.
      if (ids.length < 100) ids.push(...inserted)
    }
    return { ids, queued, known: given - queued }
  })
}

async function importedBefore(c: C, trx: Db, digest: string): Promise<string | null> {
  const { rows } = await sql<{ batch_id: string }>`
    select batch_id from writebacks where project_id = ${c.project} and batch_id like ${`%-${digest}`} limit 1`.execute(
    trx,
  )
  return rows[0]?.batch_id ?? null
}

/** As `insert` takes them. */
async function knownRefs(c: C, refs: readonly string[]): Promise<ReadonlySet<string>> {
  if (refs.length === 0) return new Set()
  const wanted = sql.join(refs.map((ref) => encodeText(c.kind, ref)))
  const { rows } = await sql<{ ref: string }>`
    select ref from writebacks where project_id = ${c.project} and ref in (${wanted})
      and status not in ('failed','conflict')`.execute(c.db)
  return new Set(rows.map(({ ref }) => decodeText(ref)))
}

/** A ref that was refused, or stood against, may come once more, corrected. Any other is known already. */
async function insert(c: C, trx: Db, wishes: readonly Wish[], how: Enqueue): Promise<readonly string[]> {
  if (wishes.length === 0) return []
  const now = c.clock()
  const value = (text: string | null) => bound(c.kind, 'text', text === null ? null : encodeText(c.kind, text))
  const rows = wishes.map((wish) => {
    const about = aboutWhat[wish.operation]
    const payload = encodeJson(c.kind, JSON.stringify(wish.payload))
    return sql`(${c.project}, ${newId(now)}, ${wish.operation}, ${value(about === 'conversation' ? wish.target : null)},
      ${value(about === 'visitor' ? wish.target : null)}, ${bound(c.kind, 'json', payload)}, ${how.status}, ${value(how.batchId)},
      ${value(wish.ref)}, ${value(wish.expect)}, ${bound(c.kind, 'time', wish.expiresAt ?? how.expiresAt)},
      ${value(how.createdBy)})`
  })
  const { rows: inserted } = await sql<{ id: string }>`
    insert into writebacks (project_id, id, operation, conversation_id, visitor_id, payload, status, batch_id, ref, expect,
      expires_at, created_by)
    values ${sql.join(rows)} on conflict (project_id, ref) where ref is not null do update set
      operation = excluded.operation, conversation_id = excluded.conversation_id, visitor_id = excluded.visitor_id,
      payload = excluded.payload, status = excluded.status, batch_id = excluded.batch_id, expect = excluded.expect,
      expires_at = excluded.expires_at, created_by = excluded.created_by, step = 'corrected, and queued again',
      error = null, evidence = null, finished_at = null, due_at = null, seen = ${seenNow(c, 'excluded')}
    where writebacks.status in ('failed','conflict')
    returning id`.execute(trx)
  return inserted.map(({ id }) => id)
}

const columns = sql`id, seq, operation, conversation_id as "conversationId", visitor_id as "visitorId", payload,
  attempts, batch_id as "batchId", ref, expect, expires_at as "expiresAt", created_at as "createdAt",
  created_by as "createdBy", sent_at as "sentAt", finished_at as "finishedAt", request_id as "requestId",
  message_id as "messageId", error, step`

async function list(
  c: C,
  filter: Filter,
  which: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<QueueEntry[]> {
  const status = await statusNow(c)
  const { rows } = await sql<Omit<QueueEntry, 'payload'> & { payload: string }>`
    select ${columns}, ${status} as status from writebacks
    where project_id = ${c.project} and ${which} and ${fits(filter, status)} ${order}`.execute(c.db)
  const text = (stored: string | null) => (stored === null ? null : decodeText(stored))
  return rows.map((row) => ({
    ...row,
    payload: JSON.parse(decodeJson(c.kind, row.payload)),
    ref: text(row.ref),
    createdBy: text(row.createdBy),
  }))
}

async function named(c: C, beginning: string): Promise<string[]> {
  if (beginning === '') return []
  const pattern = `${beginning.replace(/[%_\\]/g, '\\$&')}%`
  const { rows } = await sql<{ id: string }>`
    select id from writebacks where project_id = ${c.project} and id like ${pattern} escape '\\'
    order by case when id = ${beginning} then 0 else 1 end, seq limit 3`.execute(c.db)
  const ids = rows.map(({ id }) => id)
  return ids[0] === beginning ? [beginning] : ids
}

async function events(c: C, id: string): Promise<QueueEvent[]> {
  const { rows } = await sql<QueueEvent>`
    select at, from_status as "from", to_status as "to", detail, request_id as "requestId" from writeback_events
    where project_id = ${c.project} and writeback_id = ${id} order by seq`.execute(c.db)
  return [...rows]
}

async function summary(c: C, filter: Filter): Promise<StatusCounts> {
  // Where none of these is asked for, each row says its own.
  const isOpen = filter.statuses?.some((one) => one === 'draft' || one === 'queued' || one === 'cancelled') ?? true
  const status = isOpen ? await statusNow(c) : sql`status`
  const { rows } = await sql<{ status: Status; count: number }>`
    select ${status} as status, count(*) as count from writebacks
    where project_id = ${c.project} and ${fits(filter, status)} group by 1`.execute(c.db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function heldLanes(c: C): Promise<HeldLane[]> {
  const { rows } = await sql<HeldLane>`
    select id, operation, coalesce(conversation_id, visitor_id) as target,
      (select count(*) from writebacks behind where behind.project_id = writebacks.project_id
        and behind.lane = writebacks.lane and behind.seq > writebacks.seq and behind.status = 'queued') as waiting
    from writebacks where project_id = ${c.project} and status = 'uncertain' order by seq limit 1000`.execute(c.db)
  return [...rows]
}

async function adopt(c: C): Promise<number> {
  const { rows } = await sql`select 1 from writebacks where project_id = '' limit 1`.execute(c.db)
  if (rows.length === 0) return 0
  return durably(c.db, c.kind, async (trx) => {
    const others = await sql`select 1 from sync_streams where project_id <> ${c.project} limit 1`.execute(trx)
    if (others.rows.length > 0) return 0
    // An id that is there already is the same row once more: it stays where it is, and nothing comes of it.
    const mine = sql`project_id = '' and not exists (select 1 from writebacks same
      where same.project_id = ${c.project} and same.id = writebacks.id)`
    const known = sql`exists (select 1 from writebacks known
      where known.project_id = ${c.project} and known.ref = writebacks.ref)`
    await sql`update writeback_events set project_id = ${c.project} where project_id = '' and writeback_id in
      (select id from writebacks where ${mine})`.execute(trx)
    const why = 'its ref was queued before'
    await sql`update writebacks set project_id = ${c.project}, ref = null, status = 'cancelled', step = ${why}, error = ${why},
      finished_at = ${bound(c.kind, 'time', rfc3339(Math.floor(c.clock() / 1000)))} where ${mine} and ${known}`.execute(
      trx,
    )
    const { numAffectedRows } = await sql`update writebacks set project_id = ${c.project} where ${mine}`.execute(trx)
    return Number(numAffectedRows ?? 0n)
  })
}
