/** Pending children: parents whose child lists are to be read. They are found by a query, never held in memory. */
import { type RawBuilder, sql } from 'kysely'
import type { ChildReadResult, PendingChild } from '../../core/mirror.ts'
import { type ChildStreamName, streamSpecs } from '../../core/stream-specs.ts'
import { parseTime } from '../../core/time.ts'
import { markFactsOfUpdated } from '../analytics/pending-facts.ts'
import type { Db } from '../database/connection-pool.ts'
import { listParameter, typedParameter } from '../database/dialect.ts'
import { timeColumnOf } from './future-rows.ts'
import { closeGap, openGap } from './gaps.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'

/** The parents are new or changed: their children become due now. */
export async function markChildrenPending(
  context: ProjectContext,
  trx: Db,
  stream: ChildStreamName,
  ids: readonly string[],
  now: number,
) {
  if (ids.length === 0) return
  await sql`
    insert into sync_children (project_id, stream, parent_id, wanted, fetched, due_at, attempts)
    select ${typedParameter(context.kind, 'text', context.project)}, ${typedParameter(context.kind, 'text', stream)}, listed.value, 1, 0,
      ${typedParameter(context.kind, 'integer', now)}, 0
    from ${listParameter(context.kind, ids)} as listed where true
    on conflict (project_id, stream, parent_id)
    do update set wanted = sync_children.wanted + 1, due_at = excluded.due_at`.execute(trx)
}

/** The same for parents that may not be mirrored yet: those become pending when they are stored. */
export async function markKnownPending(
  context: ProjectContext,
  trx: Db,
  stream: ChildStreamName,
  ids: readonly string[],
  now: number,
) {
  if (ids.length === 0) return
  await sql`
    update sync_children set wanted = wanted + 1, due_at = ${typedParameter(context.kind, 'integer', now)}
    where project_id = ${context.project} and stream = ${stream}
      and parent_id in (select value from ${listParameter(context.kind, ids)} as listed)`.execute(trx)
}

/**
 * A parent's children have been read: it becomes due again if it changed meanwhile, or at `againAt`. `hasChanges`: some of
 * them changed, so that the parent's facts are pending already.
 */
export async function recordChildRead(
  context: ProjectContext,
  trx: Db,
  read: ChildReadResult,
  now: number,
  hasChanges: boolean,
): Promise<void> {
  const parameter = (value: number | null) => typedParameter(context.kind, 'integer', value)
  await sql`
    update sync_children set
      fetched = case when fetched > ${parameter(read.requestedVersion)} then fetched else ${parameter(read.requestedVersion)} end,
      due_at = case when wanted > ${parameter(read.requestedVersion)} then coalesce(due_at, ${parameter(now)})
        else ${parameter(read.againAt)} end,
      attempts = 0, error = null, whole = null, checked_at = ${parameter(now)}, position = ${typedParameter(context.kind, 'text', read.cursor)}
    where project_id = ${context.project} and stream = ${read.stream} and parent_id = ${read.parentId}`.execute(trx)
  const { stream, parentId, complete } = read
  await closeGap(context, trx, stream, unreadSubject(parentId))
  if (complete === 'as before') return
  if (stream === 'messages') await setMessagesComplete(context, trx, parentId, complete, hasChanges)
  if (complete) return closeGap(context, trx, stream, unlistedSubject(parentId))
  const reason = read.why ?? 'the service would not list all of them'
  await openGap(context, trx, { stream, from: null, to: null, reason }, unlistedSubject(parentId))
}

/** The subjects of a parent's gaps: rows that its list does not contain, and a list that could not be read at all. */
export const unlistedSubject = (parentId: string) => `parent:${parentId}`
const unreadSubject = (parentId: string) => `parent:${parentId}:unread`

async function setMessagesComplete(
  context: ProjectContext,
  trx: Db,
  parentId: string,
  complete: boolean,
  isMarked: boolean,
): Promise<void> {
  const flag = context.kind === 'sqlite' ? Number(complete) : complete
  const update = sql<{ id: string }>`
    update conversations set messages_complete = ${flag}
    where project_id = ${context.project} and id = ${parentId} and messages_complete is distinct from ${flag}
    returning id`
  if (isMarked) await update.execute(trx)
  else await markFactsOfUpdated(context, trx, 'conversation', update)
}

export async function recordChildFailure(
  context: ProjectContext,
  stream: ChildStreamName,
  parentId: string,
  why: string,
  againAt: number,
) {
  await inTransaction(context, async (trx) => {
    await trx
      .updateTable('sync_children')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), due_at: againAt, error: why }))
      .where((eb) => eb.and({ project_id: context.project, stream, parent_id: parentId }))
      .execute()
    await openGap(context, trx, { stream, from: null, to: null, reason: why }, unreadSubject(parentId))
  })
}

/** Why children are pending, most urgent first. Each condition has its own partial index, with exactly this text. */
export const pendingConditions = {
  refresh: 'fetched > 0 and whole is null',
  firstRead: 'fetched = 0',
  fullReread: 'fetched > 0 and whole is not null',
} as const

/**
 * Refreshes come first, then first reads, then full re-reads. First reads go newest first, so that new rows do not wait
 * behind years of history.
 */
export async function readPendingChildren(
  context: ProjectContext,
  stream: ChildStreamName,
  now: number,
  limit: number,
): Promise<PendingChild[]> {
  const pending: PendingChild[] = []
  for (const [name, condition] of Object.entries(pendingConditions)) {
    if (pending.length >= limit) break
    const order = name === 'firstRead' ? 'desc' : 'asc'
    pending.push(...(await readPendingWhere(context, stream, now, limit - pending.length, condition, order)))
  }
  return pending
}

async function readPendingWhere(
  context: ProjectContext,
  stream: ChildStreamName,
  now: number,
  limit: number,
  condition: string,
  order: 'asc' | 'desc',
): Promise<PendingChild[]> {
  const parentAt = await parentTimeColumn(context, stream)
  const { rows } = await sql<
    Omit<PendingChild, 'parentAt' | 'mustReread'> & { at: string | null; whole: number | null }
  >`
    select parent_id as "parentId", wanted as "requestedVersion", fetched as "fetchedVersion", position as "cursor", attempts, checked_at as "checkedAt", whole, ${parentAt} as at from sync_children
    where project_id = ${context.project} and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(condition)}
    order by due_at ${sql.raw(order)} limit ${limit}`.execute(context.db)
  return rows.map(({ at, whole, ...child }) => ({
    ...child,
    mustReread: whole !== null,
    parentAt: parseTime(at) ?? null,
  }))
}

async function parentTimeColumn(context: ProjectContext, stream: ChildStreamName): Promise<RawBuilder<unknown>> {
  const { parent } = streamSpecs[stream]
  const column = await timeColumnOf(context, parent)
  if (column === null) return sql`null`
  return sql`(select ${sql.ref(column)} from ${sql.table(streamSpecs[parent].table)} as parent
    where parent.project_id = sync_children.project_id and parent.id = sync_children.parent_id)`
}

export async function countPendingChildren(
  { db, project }: Pick<ProjectContext, 'db' | 'project'>,
  stream: ChildStreamName,
  now: number,
): Promise<number> {
  const count = (condition: string) => sql`(select count(*) from sync_children where project_id = ${project}
    and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(condition)})`
  const { rows } = await sql<{ count: number }>`
    select ${sql.join(Object.values(pendingConditions).map(count), sql` + `)} as count`.execute(db)
  return rows[0]?.count ?? 0
}

/**
 * Marks children pending for a full re-read, those with the oldest read first; returns how many. `all`: also those that
 * are already pending, as their stored rows may be wrong.
 */
export async function requestFullReads(
  context: ProjectContext,
  stream: ChildStreamName,
  which: 'all' | { readonly atLeast: number; readonly oneIn: number },
  now: number,
): Promise<number> {
  const isEligible = which === 'all' ? sql`true` : sql`(due_at is null or due_at > ${now})`
  const all = context.db.selectFrom('sync_children').where((eb) => eb.and({ project_id: context.project, stream }))
  const { count } = await all.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const limit = which === 'all' ? count : Math.max(which.atLeast, Math.ceil(count / which.oneIn))
  const result = await sql`
    update sync_children set due_at = ${typedParameter(context.kind, 'integer', now)}, whole = 1
    where project_id = ${context.project} and stream = ${stream} and parent_id in (
      select parent_id from sync_children
      where project_id = ${context.project} and stream = ${stream} and ${isEligible}
      order by checked_at limit ${limit})`.execute(context.db)
  return Number(result.numAffectedRows ?? 0n)
}

/** The service no longer has the parent, so its children are no longer pending. */
export async function removePendingChildren(
  context: ProjectContext,
  trx: Db,
  stream: ChildStreamName,
  parentId: string,
): Promise<void> {
  await trx
    .deleteFrom('sync_children')
    .where((eb) => eb.and({ project_id: context.project, stream, parent_id: parentId }))
    .execute()
  for (const subject of [unlistedSubject(parentId), unreadSubject(parentId)])
    await closeGap(context, trx, stream, subject)
}
