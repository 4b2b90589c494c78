/** What is left to read of lists that are read one parent at a time: due work is a query, never a list in memory. */
import { type RawBuilder, sql } from 'kysely'
import type { ChildRead, ChildStream, DueChild } from '../../core/mirror.ts'
import { moment } from '../../core/time.ts'
import { bound, each } from '../database/dialect.ts'
import type { Db } from '../database/session.ts'
import { visitorTime } from './ahead.ts'
import type { Context } from './context.ts'
import { closeGap, openGap } from './gaps.ts'
import { write } from './write.ts'

/** The parents are new, or changed: their children are due now. */
export async function wantChildren(c: Context, trx: Db, stream: ChildStream, ids: readonly string[], now: number) {
  if (ids.length === 0) return
  await sql`
    insert into sync_children (project_id, stream, parent_id, wanted, fetched, due_at, attempts)
    select ${bound(c.kind, 'text', c.project)}, ${bound(c.kind, 'text', stream)}, listed.value, 1, 0,
      ${bound(c.kind, 'integer', now)}, 0
    from ${each(c.kind, ids)} as listed where true
    on conflict (project_id, stream, parent_id)
    do update set wanted = sync_children.wanted + 1, due_at = excluded.due_at`.execute(trx)
}

/** Likewise for parents that may not be in the mirror: those that are not will be due when they come. */
export async function wantKnownChildren(c: Context, trx: Db, stream: ChildStream, ids: readonly string[], now: number) {
  if (ids.length === 0) return
  await sql`
    update sync_children set wanted = wanted + 1, due_at = ${bound(c.kind, 'integer', now)}
    where project_id = ${c.project} and stream = ${stream}
      and parent_id in (select value from ${each(c.kind, ids)} as listed)`.execute(trx)
}

/** A parent's children have been read: it is due again only if it changed meanwhile, or when the reader says so. */
export async function settleChild(c: Context, trx: Db, read: ChildRead, now: number): Promise<void> {
  const parameter = (value: number | null) => bound(c.kind, 'integer', value)
  await sql`
    update sync_children set
      fetched = case when fetched > ${parameter(read.wanted)} then fetched else ${parameter(read.wanted)} end,
      due_at = case when wanted > ${parameter(read.wanted)} then coalesce(due_at, ${parameter(now)})
        else ${parameter(read.againAt)} end,
      attempts = 0, error = null, whole = null, checked_at = ${parameter(now)}, position = ${bound(c.kind, 'text', read.position)}
    where project_id = ${c.project} and stream = ${read.stream} and parent_id = ${read.parentId}`.execute(trx)
  const { stream, parentId, complete } = read
  await closeGap(c, trx, stream, unread(parentId))
  if (complete === 'as before') return
  if (stream === 'messages') await flagMessages(c, trx, parentId, complete)
  if (complete) return closeGap(c, trx, stream, unlisted(parentId))
  const reason = read.why ?? 'the service would not list all of them'
  await openGap(c, trx, { stream, from: null, to: null, reason }, unlisted(parentId))
}

/** The subjects of a parent's gaps: what its list would not show, and that it could not be read at all. */
export const unlisted = (parentId: string) => `parent:${parentId}`
const unread = (parentId: string) => `parent:${parentId}:unread`

async function flagMessages(c: Context, trx: Db, parentId: string, complete: boolean): Promise<void> {
  const flag = c.kind === 'sqlite' ? Number(complete) : complete
  await sql`
    update conversations set messages_complete = ${flag}
    where project_id = ${c.project} and id = ${parentId} and messages_complete is distinct from ${flag}`.execute(trx)
}

export async function failChild(c: Context, stream: ChildStream, parentId: string, why: string, againAt: number) {
  await write(c, async (trx) => {
    await trx
      .updateTable('sync_children')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), due_at: againAt, error: why }))
      .where('project_id', '=', c.project)
      .where('stream', '=', stream)
      .where('parent_id', '=', parentId)
      .execute()
    await openGap(c, trx, { stream, from: null, to: null, reason: why }, unread(parentId))
  })
}

/** Why a child is due, most urgent first. Each has an index of its own, in these very words. */
export const dueClasses = {
  refresh: 'fetched > 0 and whole is null',
  first: 'fetched = 0',
  proof: 'fetched > 0 and whole is not null',
} as const

/**
 * Refreshes, then first reads, then what is only to be proof-read. First reads go newest first: news is not to wait behind
 * a history of years.
 */
export async function dueChildren(c: Context, stream: ChildStream, now: number, limit: number): Promise<DueChild[]> {
  const due: DueChild[] = []
  for (const [name, which] of Object.entries(dueClasses)) {
    if (due.length >= limit) break
    due.push(...(await dueOf(c, stream, now, limit - due.length, which, name === 'first' ? 'desc' : 'asc')))
  }
  return due
}

async function dueOf(
  c: Context,
  stream: ChildStream,
  now: number,
  limit: number,
  which: string,
  order: 'asc' | 'desc',
): Promise<DueChild[]> {
  const happened = await parentTime(c, stream)
  const { rows } = await sql<Omit<DueChild, 'parentAt' | 'whole'> & { at: string | null; whole: number | null }>`
    select parent_id as "parentId", wanted, fetched, position, attempts, checked_at as "checkedAt", whole, ${happened} as at from sync_children
    where project_id = ${c.project} and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(which)}
    order by due_at ${sql.raw(order)} limit ${limit}`.execute(c.db)
  return rows.map(({ at, whole, ...child }) => ({ ...child, whole: whole !== null, parentAt: moment(at) ?? null }))
}

async function parentTime(c: Context, stream: ChildStream): Promise<RawBuilder<unknown>> {
  if (stream === 'call_recordings') return calledAt
  if (stream === 'messages') return writtenAt
  const column = await visitorTime(c)
  if (column === null) return sql`null`
  return sql`(select ${sql.ref(column)} from visitors
    where visitors.project_id = sync_children.project_id and visitors.id = sync_children.parent_id)`
}

const calledAt = sql`(select occurred_at from calls
  where calls.project_id = sync_children.project_id and calls.id = sync_children.parent_id)`

const writtenAt = sql`(select last_message_at from conversations
  where conversations.project_id = sync_children.project_id and conversations.id = sync_children.parent_id)`

export async function countDue(c: Context, stream: ChildStream, now: number): Promise<number> {
  const count = async (which: string) => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from sync_children
      where project_id = ${c.project} and stream = ${stream} and due_at is not null and due_at <= ${now}
        and ${sql.raw(which)}`.execute(c.db)
    return rows[0]?.count ?? 0
  }
  let due = 0
  for (const which of Object.values(dueClasses)) due += await count(which)
  return due
}

/**
 * Makes children due that are not yet, to be read whole; those longest not read come first. `all`: whatever is due already
 * as well, as what it has of them may be wrong. Returns how many.
 */
export async function makeDue(
  c: Context,
  stream: ChildStream,
  which: 'all' | { readonly atLeast: number; readonly oneIn: number },
  now: number,
): Promise<number> {
  const idle = which === 'all' ? sql`true` : sql`(due_at is null or due_at > ${now})`
  const all = c.db.selectFrom('sync_children').where('project_id', '=', c.project).where('stream', '=', stream)
  const { count } = await all.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const limit = which === 'all' ? count : Math.max(which.atLeast, Math.ceil(count / which.oneIn))
  const result = await sql`
    update sync_children set due_at = ${bound(c.kind, 'integer', now)}, whole = 1
    where project_id = ${c.project} and stream = ${stream} and parent_id in (
      select parent_id from sync_children
      where project_id = ${c.project} and stream = ${stream} and ${idle}
      order by checked_at limit ${limit})`.execute(c.db)
  return Number(result.numAffectedRows ?? 0n)
}

/** The parents are gone: nothing is due for them. */
export async function forgetChildren(c: Context, trx: Db, stream: ChildStream, parentId: string): Promise<void> {
  await trx
    .deleteFrom('sync_children')
    .where('project_id', '=', c.project)
    .where('stream', '=', stream)
    .where('parent_id', '=', parentId)
    .execute()
  for (const subject of [unlisted(parentId), unread(parentId)]) await closeGap(c, trx, stream, subject)
}
