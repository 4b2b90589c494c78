/** Rows that are dated ahead of the clocks. */
import { sql } from 'kysely'
import type { StreamName } from '../../core/row.ts'
import { rfc3339, type Seconds } from '../../core/time.ts'
import { bound } from '../database/dialect.ts'
import type { Db } from '../database/session.ts'
import type { Context } from './context.ts'
import { tableOf } from './stream-tables.ts'

type Own = { readonly db: Db; readonly project: string }

/** Where the rows of a stream say when; visitors do so in a field that is not documented. */
const timeOf: Partial<Record<StreamName, string>> = {
  conversations: 'last_message_at',
  messages: 'created_at',
  calls: 'occurred_at',
  visitor_activity: 'occurred_at',
}

/**
 * Makes due the conversations that may have grown unseen: a message that is dated now moves no `last_message_at` that is
 * ahead already. By the indexes of the messages' times and of the open conversations: a `union` that removes what comes
 * twice would make SQLite read all messages in the order of their conversations.
 */
export async function makeDueAhead(c: Context, horizon: Seconds, most: number, now: number): Promise<void> {
  const [project, after] = [bound(c.kind, 'text', c.project), bound(c.kind, 'time', rfc3339(horizon))]
  const at = bound(c.kind, 'integer', now)
  await sql`
    update sync_children set due_at = ${at}
    where project_id = ${project} and stream = 'messages' and parent_id in (
      select parent_id from sync_children
      where project_id = ${project} and stream = 'messages' and fetched > 0 and (due_at is null or due_at > ${at})
        and parent_id in (
          select conversation_id from messages where project_id = ${project} and created_at > ${after}
          union all select id from conversations
            where project_id = ${project} and handled_at is null and last_message_at > ${after})
      order by checked_at limit ${most})`.execute(c.db)
}

/** How many living rows are dated after `horizon`, counted to `most`. */
export async function countAhead(
  { db, project }: Own,
  stream: StreamName,
  horizon: Seconds,
  most: number,
): Promise<number> {
  const time = timeOf[stream] ?? (stream === 'visitors' ? await visitorTime({ db, project }) : null)
  if (time === null) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select 1 as one from ${sql.table(tableOf[stream])}
      where project_id = ${project} and deleted_at is null and ${sql.ref(time)} > ${rfc3339(horizon)} limit ${most}) as listed`.execute(
    db,
  )
  return Number(rows[0]?.count ?? 0)
}

/** The column of the time that the list of visitors was learned to be ordered by; null = not known, or it has none. */
export async function visitorTime({ db, project }: Own): Promise<string | null> {
  const learned = await db
    .selectFrom('service_behaviours')
    .select('value')
    .where('project_id', '=', project)
    .where('name', '=', 'visitors.order')
    .executeTakeFirst()
  const path = learned?.value.split(' by ')[1]?.split(' or ')[0]
  if (path === undefined) return null
  const field = await db
    .selectFrom('discovered_fields')
    .select('column_name')
    .where('stream', '=', 'visitors')
    .where('path', '=', path)
    .where('type', '=', 'timestamp')
    .executeTakeFirst()
  return field?.column_name ?? null
}
