/** Reads what the facts of conversations are derived from: stored rows, with times in seconds since 1970. */
import { sql } from 'kysely'
import type { ConversationHistory, HandledChange, HistoryMessage } from '../../core/analytics/conversation-history.ts'
import type { RoleOfSender } from '../../core/analytics/sender-roles.ts'
import { type EpochSeconds, parseTime } from '../../core/time.ts'
import { inList } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { epochSeconds } from './sql-time.ts'

type ConversationColumns = {
  readonly id: string
  readonly visitorId: string | null
  readonly origin: string | null
  readonly assignedAgentId: string | null
  readonly createdAt: EpochSeconds | null
  readonly handledAt: EpochSeconds | null
  readonly isMessagesComplete: boolean | number | null
}

/** The conversations with these ids that exist, unless they have more messages. */
export async function readHistories(
  source: ProjectDb,
  ids: readonly string[],
  roleOf: RoleOfSender,
  maxMessages: number,
): Promise<ConversationHistory[] | 'too many messages'> {
  const { db, kind, project } = source
  const messages = await readMessages(source, ids, roleOf, maxMessages)
  if (messages === null) return 'too many messages'
  const { rows } = await sql<ConversationColumns>`
    select id, visitor_id as "visitorId", origin, assigned_agent_id as "assignedAgentId",
      ${epochSeconds(kind, 'created_at')} as "createdAt", ${epochSeconds(kind, 'handled_at')} as "handledAt",
      messages_complete as "isMessagesComplete" from conversations
    where project_id = ${project} and id ${inList(kind, ids)}
      and deleted_at is null`.execute(db)
  const changes = await readHandledChanges(source, ids)
  return rows.map((row) => ({
    ...row,
    isMessagesComplete: Boolean(row.isMessagesComplete),
    messages: messages.get(row.id) ?? [],
    handledChanges: changes.get(row.id) ?? [],
  }))
}

/** In the order of their ids. Null: there are more. */
async function readMessages(
  { db, kind, project }: ProjectDb,
  conversationIds: readonly string[],
  roleOf: RoleOfSender,
  maxMessages: number,
): Promise<Map<string, HistoryMessage[]> | null> {
  const limit = Number.isFinite(maxMessages) ? sql`limit ${sql.lit(maxMessages + 1)}` : sql``
  type Row = Pick<HistoryMessage, 'id' | 'at'> & Record<'conversation' | 'sender' | 'kind' | 'name', string | null>
  const { rows } = await sql<Row>`
    select conversation_id as conversation, id, ${epochSeconds(kind, 'created_at')} as at, sender_type as sender, kind,
      sender_display_name as name from messages
    where project_id = ${project} and deleted_at is null
      and conversation_id ${inList(kind, conversationIds)}
    order by conversation_id, id ${limit}`.execute(db)
  if (rows.length > maxMessages) return null
  return groupBy(
    rows,
    (row) => row.conversation ?? '',
    (row) => ({
      id: Number(row.id),
      at: row.at,
      role: row.kind === 'utterance' ? roleOf(row.sender) : 'event',
      name: row.name ?? '',
    }),
  )
}

/** In the order in which they were seen. */
async function readHandledChanges(
  { db, kind, project }: ProjectDb,
  conversationIds: readonly string[],
): Promise<Map<string, HandledChange[]>> {
  const { rows } = await sql<Record<'conversation' | 'old' | 'new' | 'seen', string | null>>`
    select conversation_id as conversation, old_value as old, new_value as new, seen_at as seen from conversation_changes
    where project_id = ${project} and field = 'handled_at'
      and conversation_id ${inList(kind, conversationIds)}
    order by id`.execute(db)
  return groupBy(
    rows,
    (row) => row.conversation ?? '',
    (row) => ({
      old: parseTime(row.old) ?? null,
      new: parseTime(row.new) ?? null,
      seenAt: parseTime(row.seen) ?? 0,
    }),
  )
}

function groupBy<Row, Value>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  toValue: (row: Row) => Value,
): Map<string, Value[]> {
  const groups = new Map<string, Value[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [toValue(row)])
    else group.push(toValue(row))
  }
  return groups
}
