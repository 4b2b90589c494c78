/** The targets of reviewed write-backs as the mirror has them, for many rows in a few statements. */
import { type RawBuilder, sql } from 'kysely'
import { teamSenderTypes, toMessageSide } from '../../core/message-side.ts'
import type { ConversationState, MirroredMessage, VisitorState } from '../../core/outbox/review.ts'
import { inList } from '../database/dialect.ts'
import { decodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { inAnyCase } from './shown-ids.ts'

/** Enough of a text to recognise it by. */
const maxTextLength = 2400

/** A person or the AI wrote it; any other kind is a system event. */
function isUtterance(table: string): RawBuilder<unknown> {
  const kind = sql.ref(`${table}.kind`)
  return sql`${sql.ref(`${table}.deleted_at`)} is null and (${kind} is null or ${kind} = 'utterance')`
}

/** An unknown sender counts as a visitor, unless the message is known as one of our replies. */
const notByTeamSql = sql`(last.sender_type is null
    or lower(last.sender_type) not in (${sql.join(teamSenderTypes.map((type) => sql.lit(type)))}))
  and not exists (select 1 from writebacks own where own.project_id = last.project_id
    and own.lane = 'conversation/' || lower(last.conversation_id) and own.message_id = cast(last.id as text))`

type ConversationRow = {
  id: string
  deleted: string | null
  handled: string | null
  visitor: string | null
  lastAt: string | null
  lastSender: string | null
  messageId: unknown
  messageAt: string | null
  messageText: string | null
}

/** By id in lower case. */
export async function readConversationStates(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ConversationState>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<ConversationRow>`
    select conversations.id, conversations.deleted_at as deleted, handled_at as handled, visitors.name as visitor,
      last_message_at as "lastAt", last_message_sender_type as "lastSender", messages.id as "messageId",
      messages.created_at as "messageAt", substr(messages.content, 1, ${sql.lit(maxTextLength)}) as "messageText"
    from conversations
    left join visitors on visitors.project_id = conversations.project_id and visitors.id = conversations.visitor_id
    left join messages on messages.project_id = conversations.project_id
      and messages.conversation_id = conversations.id and messages.id = (select last.id from messages last
        where last.project_id = conversations.project_id and last.conversation_id = conversations.id
          and ${isUtterance('last')} and ${notByTeamSql} order by last.created_at desc, last.id desc limit 1)
    where conversations.project_id = ${project} and lower(conversations.id) ${inList(kind, inLowerCase(ids))}`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.id.toLowerCase(), toConversationState(row)]))
}

const inLowerCase = (ids: readonly string[]) => ids.map((id) => id.toLowerCase())

function toConversationState(row: ConversationRow): ConversationState {
  return {
    kind: 'conversation',
    isDeleted: row.deleted !== null,
    isHandled: row.handled !== null,
    visitorName: textOrNull(row.visitor),
    lastMessageAt: row.lastAt,
    isLastByVisitor: toMessageSide(row.lastSender) === 'visitor',
    lastVisitorMessage:
      row.messageId === null
        ? null
        : { id: String(row.messageId), at: row.messageAt, text: textOrNull(row.messageText) },
  }
}

/** By id in lower case. */
export async function readVisitorStates(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, VisitorState>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: string; deleted: string | null; name: string | null; email: string | null }>`
    select id, deleted_at as deleted, name, email from visitors
    where project_id = ${project} and lower(id) ${inList(kind, inLowerCase(ids))}`.execute(db)
  return new Map(
    rows.map(({ id, deleted, name, email }) => [
      id.toLowerCase(),
      { kind: 'visitor', isDeleted: deleted !== null, name: textOrNull(name), email: textOrNull(email) },
    ]),
  )
}

export type VisitorConversation = { readonly visitor: string; readonly id: string }

/** Of each visitor the latest first, with ids in lower case. */
export async function listConversationsOf(
  { db, kind, project }: ProjectDb,
  visitors: readonly string[],
): Promise<readonly VisitorConversation[]> {
  if (visitors.length === 0) return []
  const { rows } = await sql<{ visitor: string; id: string }>`
    select visitor_id as visitor, id from conversations
    where project_id = ${project} and deleted_at is null and visitor_id ${inList(kind, inAnyCase(visitors))}
    order by last_message_at desc`.execute(db)
  return rows.map(({ visitor, id }) => ({ visitor: visitor.toLowerCase(), id: id.toLowerCase() }))
}

/** Those of `messageIds` that are in these conversations; by conversation in lower case and id: `…/12`. */
export async function readExpectedMessages(
  { db, kind, project, typed }: ProjectDb,
  conversations: readonly string[],
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, MirroredMessage>> {
  if (conversations.length === 0 || messageIds.length === 0) return new Map()
  const { rows } = await sql<{ conversation: string; id: unknown; at: string | null }>`
    select conversation_id as conversation, id, created_at as at from messages
    where project_id = ${project} and conversation_id ${inList(kind, inAnyCase(conversations))}
      and id in (${sql.join(messageIds.map((id) => typed('integer', BigInt(id))))})
      and ${isUtterance('messages')}`.execute(db)
  return new Map(
    rows.map(({ conversation, id, at }) => [`${conversation.toLowerCase()}/${id}`, { id: String(id), at, text: null }]),
  )
}

export function textOrNull(stored: string | null): string | null {
  return stored === null ? null : decodeText(stored)
}
