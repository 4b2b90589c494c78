/** Future-dated rows: their times are later than the clocks allow. */
import { sql } from 'kysely'
import { isPagedStream, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { type EpochMs, type EpochSeconds, rfc3339 } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/**
 * Marks the conversations pending that may have new messages without showing it: a message dated now does not move a
 * `last_message_at` that lies in the future. Uses the indexes of the messages' times and of the open conversations.
 * A `union` without `all` would make SQLite read all messages, ordered by their conversations.
 */
export async function markFutureDatedPending(
  { db, project: id, typed }: ProjectDb,
  cursorLimit: EpochSeconds,
  limit: number,
  now: EpochMs,
): Promise<void> {
  const [project, after, at] = [typed('text', id), typed('time', rfc3339(cursorLimit)), typed('integer', now)]
  await sql`
    update sync_children set due_at = ${at}
    where project_id = ${project} and stream = 'messages' and parent_id in (
      select parent_id from sync_children
      where project_id = ${project} and stream = 'messages' and fetched > 0 and (due_at is null or due_at > ${at})
        and parent_id in (
          select conversation_id from messages where project_id = ${project} and created_at > ${after}
          union all select id from conversations
            where project_id = ${project} and handled_at is null and last_message_at > ${after})
      order by checked_at limit ${limit})`.execute(db)
}

/** How many existing rows are dated after `cursorLimit`, counted up to `limit`. */
export async function countFutureRows(
  context: ProjectDb,
  stream: StreamName,
  cursorLimit: EpochSeconds,
  limit: number,
): Promise<number> {
  const timeColumn = isPagedStream(stream) ? await timeColumnOf(context, stream) : null
  if (timeColumn === null) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select 1 as one from ${sql.table(streamSpecs[stream].table)}
      where project_id = ${context.project} and deleted_at is null and ${sql.ref(timeColumn)} > ${rfc3339(cursorLimit)}
      limit ${limit}) as listed`.execute(context.db)
  return Number(rows[0]?.count ?? 0)
}

/**
 * The column that says when a row last happened. If that is an undocumented field, then the one by which the service
 * orders the list; null = not known, or it has no column.
 */
export async function timeColumnOf({ db, project }: ProjectDb, stream: StreamName): Promise<string | null> {
  const { timeColumn } = streamSpecs[stream]
  if (timeColumn !== null) return timeColumn
  const { rows } = await sql<{ value: string }>`
    select value from service_behaviours where project_id = ${project} and name = ${`${stream}.order`}`.execute(db)
  const path = rows[0]?.value.split(' by ')[1]?.split(' or ')[0]
  if (path === undefined) return null
  const fields = await sql<{ column: string | null }>`
    select column_name as "column" from discovered_fields
    where stream = ${stream} and path = ${path} and type = 'timestamp' limit 1`.execute(db)
  return fields.rows[0]?.column ?? null
}
