/** How long the lists of messages are that were read whole, and which lack messages for a limit. */
import { sql } from 'kysely'
import { type EpochMs, parseTime } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { ListLength } from '../core/message-list-cap.ts'
import { untimedGap } from '../core/mirror.ts'
import { setMessagesComplete } from './child-reads.ts'
import { listOpenGaps, openGap, unlistedGapKey } from './gaps.ts'
import { requestReread } from './pending-children.ts'

/** The longest lists. */
export function readLongestLists(context: ProjectDb, limit: number): Promise<ListLength[]> {
  return readLengths(context, sql`listed_rows is not null`, sql`listed_rows desc, parent_id`, limit)
}

/** Lists of exactly so many rows that are taken for complete, in the order of their ids. */
export function readCompleteLists(
  context: ProjectDb,
  rows: number,
  after: string | null,
  limit: number,
) {
  const isComplete = sql`listed_rows = ${rows} and exists (select 1 from conversations as parent
    where parent.project_id = sync_children.project_id and parent.id = sync_children.parent_id
      and parent.messages_complete and parent.deleted_at is null)`
  const isNext = after === null ? isComplete : sql`${isComplete} and parent_id > ${after}`
  return readLengths(context, isNext, sql`parent_id`, limit)
}

async function readLengths(
  { db, project }: ProjectDb,
  condition: ReturnType<typeof sql>,
  order: ReturnType<typeof sql>,
  limit: number,
): Promise<ListLength[]> {
  const times = ['began', 'lastAt', 'oldest', 'newest'] as const
  type Row = { id: string; rows: number } & Record<(typeof times)[number], string | null>
  const ofParent = (column: string) => sql`(select ${sql.ref(column)} from conversations as parent
    where parent.project_id = ${project} and parent.id = list.parent_id)`
  // In the order of the key: Postgres would else search all messages by time, for each list.
  const ofMessages = (time: ReturnType<typeof sql>) => sql`(select ${time} from (
    select created_at from message_rows as message
    where message.project_id = ${project} and message.conversation_id = list.parent_id
      and message.deleted_at is null
    order by message.id) as listed)`
  const { rows } = await sql<Row>`
    select list.parent_id as id, list.listed_rows as rows,
      ${ofParent('created_at')} as began, ${ofParent('last_message_at')} as "lastAt",
      ${ofMessages(sql`min(created_at)`)} as oldest, ${ofMessages(sql`max(created_at)`)} as newest
    from (select parent_id, listed_rows from sync_children
      where project_id = ${project} and stream = 'messages' and ${condition}
      order by ${order} limit ${limit}) as list`.execute(db)
  return rows.map((row) => {
    const [began = null, lastAt = null, oldest = null, newest = null] = times.map((name) =>
      parseTime(row[name]),
    )
    return { parentId: row.id, rows: Number(row.rows), began, lastAt, oldest, newest }
  })
}

/** Messages of conversations that were taken for complete are missing. */
export async function markListsIncomplete(
  trx: ProjectDb,
  conversations: readonly string[],
  reason: string,
): Promise<void> {
  for (const id of conversations) {
    await setMessagesComplete(trx, id, false, false)
    await openGap(trx, untimedGap('messages', reason, unlistedGapKey(id)))
  }
}

/** Those whose gap has such a reason are read again. Returns how many. */
export async function rereadUnlisted(
  trx: ProjectDb,
  isReason: (reason: string) => boolean,
  now: EpochMs,
) {
  let count = 0
  for (const { reason, dedupKey } of await listOpenGaps(trx, 'messages')) {
    const [, parentId] = /^parent:([^:]+)$/.exec(dedupKey ?? '') ?? []
    if (parentId === undefined || !isReason(reason)) continue
    await requestReread(trx, 'messages', parentId, now)
    count += 1
  }
  return count
}
