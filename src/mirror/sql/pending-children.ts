/** Children that are to be read: which, in which order, and how many. One row for each parent. */
import { type RawBuilder, sql } from 'kysely'
import {
  type ChildStreamName,
  childStreamNames,
  type StreamName,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import type { ProjectId } from '../../values/project.ts'
import {
  clockToleranceSeconds,
  type EpochMs,
  type EpochSeconds,
  type Ms,
  parseTime,
  rfc3339,
} from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { countRowsOf, inList, listParameter } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type PendingParent, untimedGap } from '../core/mirror.ts'
import { closeGaps, openGap, unlistedGapKey, unreadGapKey } from './gaps.ts'
import { timeColumnOf } from './reader.ts'

/** The parents are new or changed: their children become due now. */
export async function addPendingChildren(
  { db, kind, project, typed }: ProjectDb,
  stream: ChildStreamName,
  ids: readonly string[],
  now: EpochMs,
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    insert into sync_children (project_id, stream, parent_id, requested_version, read_version,
    due_at, attempts)
    select ${typed('text', project)}, ${typed('text', stream)}, listed.value, 1, 0,
    ${typed('integer', now)}, 0
    from ${listParameter(kind, ids)} as listed where true
    on conflict (project_id, stream, parent_id)
    do update set requested_version = sync_children.requested_version + 1, due_at =
    excluded.due_at`.execute(db)
}

/** The same for parents that may not be mirrored yet: those become pending when they are stored. */
export async function markChildrenPending(
  { db, kind, project, typed }: ProjectDb,
  stream: ChildStreamName,
  ids: readonly string[],
  now: EpochMs,
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update sync_children set requested_version = requested_version + 1, due_at =
    ${typed('integer', now)}
    where project_id = ${project} and stream = ${stream} and parent_id
    ${inList(kind, ids)}`.execute(db)
}

/** A condition: the row of one parent. */
export const ofParent = ({ project }: ProjectDb, stream: StreamName, parentId: string) =>
  sql`project_id = ${project} and stream = ${stream} and parent_id = ${parentId}`

/** All of the list is to be read again, now. */
export async function requestReread(
  trx: ProjectDb,
  stream: StreamName,
  parentId: string,
  now: EpochMs,
): Promise<void> {
  await sql`
    update sync_children set due_at = ${trx.typed('integer', now)}, reread_whole = 1
    where ${ofParent(trx, stream, parentId)}`.execute(trx.db)
}

/**
 * Marks the conversations pending that may have new messages without showing it: a message dated
 * now does not move a `last_message_at` that lies in the future. Uses the indexes of the messages'
 * times and of the open conversations. A `union` without `all` would make SQLite read all messages,
 * ordered by their conversations.
 */
export async function markFutureDatedPending(
  { db, project: id, typed }: ProjectDb,
  cursorLimit: EpochSeconds,
  limit: number,
  now: EpochMs,
): Promise<void> {
  const project = typed('text', id)
  const after = typed('time', rfc3339(cursorLimit))
  const at = typed('integer', now)
  await sql`
    update sync_children set due_at = ${at}
    where project_id = ${project} and stream = 'messages' and parent_id in (
      select parent_id from sync_children
      where project_id = ${project} and stream = 'messages' and read_version > 0
        and (due_at is null or due_at > ${at})
        and parent_id in (
          select conversation_id from messages where project_id = ${project}
          and created_at > ${after}
          union all select id from conversations
            where project_id = ${project} and handled_at is null and last_message_at > ${after})
      order by checked_at limit ${limit})`.execute(db)
}

/**
 * Why children are pending, most urgent first. Each condition has its own partial index, with
 * exactly this text.
 */
const pendingConditions = {
  refresh: 'read_version > 0 and reread_whole is null',
  firstRead: 'read_version = 0',
  fullReread: 'read_version > 0 and reread_whole is not null',
} as const

/** Delays are shorter than this. */
const maxDelayMs: Ms = 30 * 86_400_000

/**
 * Children that were marked pending in the future, by a clock that has been set back since, become
 * due now: their parent shows nothing more. Those that wait for a reason wait on, unless no delay
 * is that long.
 */
export async function correctFutureDueTimes(
  { db, project, typed }: ProjectDb,
  stream: ChildStreamName,
  now: EpochMs,
) {
  const latest = now + clockToleranceSeconds * 1000
  for (const condition of Object.values(pendingConditions)) {
    await sql`
      update sync_children set due_at = ${typed('integer', now)}
      where project_id = ${project} and stream = ${stream} and due_at is not null
      and due_at > ${latest}
        and ${sql.raw(condition)}
        and (attempts = 0 and requested_version > read_version
        or due_at > ${now + maxDelayMs})`.execute(db)
  }
}

/** While too many parents are missing, this one too: it has not changed since it was missed. */
export const isDoubted = sql`doubted_version >= requested_version`

/** Nothing is requested of these parents until they change, or the doubt ends. */
export async function doubtParents(
  { db, project }: ProjectDb,
  stream: ChildStreamName,
  inIds: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    update sync_children set doubted_version = requested_version
    where project_id = ${project} and stream = ${stream} and parent_id ${inIds}`.execute(db)
}

export async function endDoubt({ db, project }: ProjectDb, stream: ChildStreamName): Promise<void> {
  await sql`
    update sync_children set doubted_version = null
    where project_id = ${project} and stream = ${stream} and doubted_version is not null`.execute(
    db,
  )
}

/** The conditions in SQL, in the same order. */
function pendingSql(now: EpochMs): RawBuilder<unknown>[] {
  return Object.values(pendingConditions).map(
    (condition) => sql`due_at is not null and due_at <= ${now} and ${sql.raw(condition)}
      and coalesce(doubted_version, -1) < requested_version`,
  )
}

/**
 * Refreshes come first, then first reads, then full re-reads. First reads go newest first, so that
 * new rows do not wait behind years of history.
 */
export async function readPendingParents(
  context: ProjectDb,
  stream: ChildStreamName,
  now: EpochMs,
  limit: number,
) {
  const { parent } = streamSpecs[stream]
  const parentColumn = (column: string | null) =>
    column === null
      ? sql`null`
      : sql`(select ${sql.ref(column)} from ${sql.table(streamSpecs[parent].table)} as parent
          where parent.project_id = sync_children.project_id and parent.id =
          sync_children.parent_id)`
  const lastActiveAt = parentColumn(await timeColumnOf(context, parent))
  const beganAt = parentColumn(streamSpecs[parent].startColumn)
  type Row = Omit<PendingParent, 'parentLastActiveAt' | 'parentBeganAt' | 'rereadWhole'>
  const pending: PendingParent[] = []
  for (const [i, isPending] of pendingSql(now).entries()) {
    if (pending.length >= limit) break
    const order = sql.raw(Object.keys(pendingConditions)[i] === 'firstRead' ? 'desc' : 'asc')
    const { rows } = await sql<
      Row & { at: string | null; began: string | null; rereadWhole: number | null }
    >`
      select parent_id as "parentId", requested_version as "requestedVersion",
        read_version as "readVersion", reread_whole as "rereadWhole", cursor, attempts,
        checked_at as "checkedAt", ${lastActiveAt} as at, ${beganAt} as began from sync_children
      where project_id = ${context.project} and stream = ${stream} and ${isPending}
      order by due_at ${order} limit ${limit - pending.length}`.execute(context.db)
    for (const { at, began, rereadWhole, ...row } of rows) {
      pending.push({
        ...row,
        rereadWhole: rereadWhole !== null,
        parentLastActiveAt: parseTime(at) ?? null,
        parentBeganAt: parseTime(began) ?? null,
      })
    }
  }
  return pending
}

export async function countPendingParents(
  { db, project }: ProjectDb,
  stream: ChildStreamName,
  now: EpochMs,
) {
  const counts = pendingSql(now).map(
    (isPending) =>
      sql`(select count(*) from sync_children where project_id = ${project} and stream = ${stream}
        and ${isPending})`,
  )
  const { rows } = await sql<{
    count: number
  }>`select ${sql.join(counts, sql` + `)} as count`.execute(db)
  return rows[0]?.count ?? 0
}

/** Child streams of the project that have pending children. */
export async function listPendingStreams(
  db: Db,
  project: ProjectId,
  now: EpochMs,
): Promise<ChildStreamName[]> {
  const selects = childStreamNames.flatMap((stream) =>
    pendingSql(now).map(
      (isPending) => sql`select * from (select stream from sync_children
        where project_id = ${project} and stream = ${stream} and ${isPending} limit 1) as found`,
    ),
  )
  const { rows } = await sql<{
    stream: ChildStreamName
  }>`${sql.join(selects, sql` union `)}`.execute(db)
  return childStreamNames.filter((name) => rows.some(({ stream }) => stream === name))
}

/** Pending children of all projects: their number by project and stream. */
export async function countAllPending(
  db: Db,
  now: EpochMs,
): Promise<Map<string, Map<ChildStreamName, number>>> {
  const counts = new Map<string, Map<ChildStreamName, number>>()
  for (const isPending of pendingSql(now)) {
    const { rows } = await sql<{ project: ProjectId; stream: ChildStreamName; count: number }>`
      select project_id as project, stream, count(*) as count from sync_children
      where ${isPending} group by project_id, stream`.execute(db)
    for (const { project, stream, count } of rows) {
      const streams = counts.get(project) ?? new Map<ChildStreamName, number>()
      counts.set(project, streams.set(stream, (streams.get(stream) ?? 0) + count))
    }
  }
  return counts
}

/**
 * Marks children pending for a full re-read; returns how many. `all`: of all parents. Else those
 * that are pending anyway, which costs no request, and as many others, of which all was least
 * recently read: a busy list would otherwise never be.
 */
export async function requestFullRereads(
  trx: ProjectDb,
  stream: ChildStreamName,
  which: 'all' | { readonly atLeast: number; readonly oneIn: number },
  now: EpochMs,
) {
  const { db, project, typed } = trx
  const ofStream = sql`sync_children where project_id = ${project} and stream = ${stream}`
  const count = await countRowsOf(db, ofStream)
  const limit = which === 'all' ? count : Math.max(which.atLeast, Math.ceil(count / which.oneIn))
  if (which === 'all') await endDoubt(trx, stream)
  const isDue = sql`due_at is not null and due_at <= ${now}`
  const result = await sql`
    update sync_children set due_at = ${typed('integer', now)}, reread_whole = 1
    where project_id = ${project} and stream = ${stream} and (read_version > 0 and ${isDue}
    or parent_id in (
      select parent_id from sync_children
      where project_id = ${project} and stream = ${stream} and
      ${
        which === 'all'
          ? sql`true`
          : sql`read_version > 0 and not (${isDue})
        and doubted_version is null`
      }
      order by coalesce(full_read_at, 0), checked_at limit ${limit}))`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}

export async function recordChildFailure(
  trx: ProjectDb,
  stream: ChildStreamName,
  parentId: string,
  why: string,
  dueAt: EpochMs,
): Promise<void> {
  await sql`
    update sync_children set attempts = attempts + 1, due_at = ${dueAt}, error = ${why}
    where ${ofParent(trx, stream, parentId)}`.execute(trx.db)
  await openGap(trx, untimedGap(stream, why, unreadGapKey(parentId)))
}

/** The service no longer has the parent, so its children are no longer pending. */
export async function removePendingChildren(
  trx: ProjectDb,
  stream: ChildStreamName,
  parentId: string,
): Promise<void> {
  await sql`delete from sync_children where ${ofParent(trx, stream, parentId)}`.execute(trx.db)
  await closeGaps(trx, stream, [unlistedGapKey(parentId), unreadGapKey(parentId)])
}
