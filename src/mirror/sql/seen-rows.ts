/** Sets of ids by name: rows that a scan of a whole list has shown, and rows to recheck. */
import { sql } from 'kysely'
import { type ListStreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochSeconds, rfc3339 } from '../../values/time.ts'
import { countRowsOf, inList, listParameter } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { rowGapKey } from './gaps.ts'
import { isDoubted } from './pending-children.ts'

/** Conversations to read again by id, because a list may have returned a stale copy of them. */
export const recheckSet = 'conversations:check'

/** Ids that name no row: the service answered 404. */
export const absentSet = (stream: ListStreamName) => `${stream}:absent`

type Scope = 'all' | 'open'

export async function addToIdSet(
  { db, kind, project, typed }: ProjectDb,
  key: string,
  ids: readonly string[],
) {
  if (ids.length === 0) return
  await sql`
    insert into sync_seen_rows (project_id, scan, id)
    select ${typed('text', project)}, ${typed('text', key)}, listed.value
    from ${listParameter(kind, ids)} as listed where true on conflict do nothing`.execute(db)
}

/** Ids of the set, in id order. */
export async function listIdSet(
  { db, project }: ProjectDb,
  key: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from sync_seen_rows where project_id = ${project} and scan = ${key}
    order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

export async function removeFromIdSet(
  { db, kind, project }: ProjectDb,
  key: string,
  ids: readonly string[],
) {
  if (ids.length === 0) return
  await sql`
    delete from sync_seen_rows where project_id = ${project} and scan = ${key}
    and id ${inList(kind, ids)}`.execute(db)
}

export async function forgetSeenRows({ db, project }: ProjectDb, key: string): Promise<void> {
  await sql`delete from sync_seen_rows where project_id = ${project} and scan = ${key}`.execute(db)
}

export async function listUnseenRows(
  { db, project }: ProjectDb,
  stream: ListStreamName,
  key: string,
  scope: Scope,
  after: string | null,
  limit: number,
): Promise<string[]> {
  // A conversation that may be deleted, or cannot be read, is not requested again.
  const known =
    scope === 'open'
      ? sql`and not exists (select 1 from sync_children as doubted
          where doubted.project_id = row.project_id and doubted.stream = 'messages'
            and doubted.parent_id = row.id and ${isDoubted})
          and ${hasNoGap(project, stream, 'row.id')}`
      : sql``
  const from = after === null ? sql`` : sql`and row.id > ${after}`
  const { rows } = await sql<{ id: string }>`
    select row.id from ${sql.table(streamSpecs[stream].table)} as row
    where ${inScope(project, scope)} ${from} and ${notSeen(project, key)} ${known}
    order by row.id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Conversations that are open, and not newer than that. */
export function countOpenUntil(
  { db, project, typed }: ProjectDb,
  until: EpochSeconds,
): Promise<number> {
  const from = sql`conversations as row where ${inScope(project, 'open')}
    and row.last_message_at <= ${typed('time', rfc3339(until))}`
  return countRowsOf(db, from)
}

export async function countUnseenRows(
  { db, project }: ProjectDb,
  stream: ListStreamName,
  key: string,
  scope: Scope,
) {
  const { rows } = await sql<{ unseen: number; living: number }>`
    select count(*) as living, count(case when ${notSeen(project, key)} then 1 end) as unseen
    from ${sql.table(streamSpecs[stream].table)} as row where ${inScope(project, scope)}`.execute(
    db,
  )
  return rows[0] ?? { unseen: 0, living: 0 }
}

/** Ids that are not mirrored, or were not seen under this key; null = whatever was seen. */
export async function listUnseenIds(
  { db, kind, project }: ProjectDb,
  stream: ListStreamName,
  key: string | null,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const seen = key === null ? sql`` : sql`and not ${notSeen(project, key)}`
  const { rows } = await sql<{ id: string }>`
    select row.id from ${sql.table(streamSpecs[stream].table)} as row
    where ${inScope(project, 'all')} and lower(row.id) ${inList(kind, ids.map(lower))}
    ${seen}`.execute(db)
  const known = new Set(rows.map(({ id }) => lower(id)))
  return ids.filter((id) => !known.has(lower(id)))
}

/** Whom conversations until then name: not mirrored or deleted, nor known not to be readable. */
export async function listMissingVisitors(
  { db, project, typed }: ProjectDb,
  until: EpochSeconds,
  after: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select distinct row.visitor_id as id from conversations as row
    where ${inScope(project, 'all')} and row.visitor_id > ${after}
      and (coalesce(row.created_at, row.last_message_at) > ${typed('time', rfc3339(until))})
        is not true
      and not exists (select 1 from visitors
        where visitors.project_id = ${project} and visitors.id = row.visitor_id
          and visitors.deleted_at is null)
      and not exists (select 1 from sync_seen_rows as absent
        where absent.project_id = ${project} and absent.scan = ${absentSet('visitors')}
          and absent.id = row.visitor_id)
      and ${hasNoGap(project, 'visitors', 'row.visitor_id')}
    order by 1 limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Whether no open gap tells of that row alone: a reconcile closes it, and asks again. */
function hasNoGap(project: ProjectId, stream: ListStreamName, id: string) {
  return sql`not exists (select 1 from sync_gaps as own
    where own.project_id = ${project} and own.stream = ${stream}
      and own.dedup_key = ${rowGapKey('')} || ${sql.ref(id)} and own.resolved_at is null)`
}

/** Ids are equal whatever the case of their letters. */
const lower = (id: string) => id.toLowerCase()

function inScope(project: ProjectId, scope: Scope) {
  const open = scope === 'open' ? sql`and row.handled_at is null` : sql``
  return sql`row.project_id = ${project} and row.deleted_at is null ${open}`
}

/** The living rows of the table that were not seen under this key. */
export function unseenIds(project: ProjectId, stream: ListStreamName, key: string) {
  return sql`select row.id from ${sql.table(streamSpecs[stream].table)} as row
    where ${inScope(project, 'all')} and ${notSeen(project, key)}`
}

function notSeen(project: ProjectId, key: string) {
  return sql`not exists (select 1 from sync_seen_rows as seen
    where seen.project_id = ${project} and seen.scan = ${key} and seen.id = row.id)`
}
