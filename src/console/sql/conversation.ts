/** One conversation with its thread, and one visitor with conversations and activity. */
import { sql } from 'kysely'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { ChangeRow, ConversationData, ConversationRow, MessageRow, VisitorData } from '../core/data.ts'

const pageMessages = 200
const maxChanges = 100

type StoredConversation = Omit<ConversationData, 'messages' | 'older' | 'changes' | 'writebacks'>

/** The newest messages, or those before a message of that id. Null: there is no such conversation. */
export async function readConversation(
  context: ProjectDb,
  id: string,
  before: string | null,
): Promise<ConversationData | null> {
  const { db, project } = context
  const { rows } = await sql<StoredConversation>`
    select c.id, c.visitor_id as "visitorId", visitors.name, visitors.email, c.created_at as "createdAt",
      c.handled_at as "handledAt", c.waiting_since as "waitingSince", c.assigned_agent_id as agent, c.origin,
      c.messages_complete as "isComplete", c.deleted_at as "deletedAt"
    from conversations as c left join visitors on visitors.project_id = ${project} and visitors.id = c.visitor_id
    where c.project_id = ${project} and c.id = ${id}`.execute(db)
  const [conversation] = rows
  if (conversation === undefined) return null
  const found = await readMessages(context, id, before)
  const shown = found.slice(0, pageMessages)
  return {
    ...conversation,
    isComplete: conversation.isComplete === null ? null : Boolean(conversation.isComplete),
    messages: shown.toReversed(),
    older: found.length > pageMessages ? (shown.at(-1)?.id ?? null) : null,
    changes: await readChanges(context, id),
    writebacks: await readWritebacks(context, id),
  }
}

/** The newest first, and one more than a page has. */
async function readMessages({ db, project }: ProjectDb, id: string, before: string | null): Promise<MessageRow[]> {
  type Row = Omit<MessageRow, 'isDeleted' | 'role'> & Record<'deleted' | 'kind' | 'known', string | null>
  const { rows } = await sql<Row>`
    select m.id, m.sender_type as sender, m.kind, m.sender_display_name as name, m.content, m.created_at as at,
      m.deleted_at as deleted, t.role as known
    from messages as m left join dim_sender_type as t on t.project_id = ${project} and t.sender_type = m.sender_type
    where m.project_id = ${project} and m.conversation_id = ${id}
      and ${before !== null && /^\d{1,15}$/.test(before) ? sql`m.id < ${Number(before)}` : sql`true`}
    order by m.id desc limit ${pageMessages + 1}`.execute(db)
  return rows.map(({ deleted, kind, known, ...row }) => ({
    ...row,
    id: String(row.id),
    isDeleted: deleted !== null,
    role: kind !== 'utterance' ? 'event' : (known ?? row.sender) === 'visitor' ? 'visitor' : 'team',
  }))
}

async function readChanges({ db, project }: ProjectDb, id: string): Promise<readonly ChangeRow[]> {
  const { rows } = await sql<ChangeRow>`
    select field, old_value as before, new_value as after, seen_at as at from conversation_changes
    where project_id = ${project} and conversation_id = ${id} order by id desc limit ${maxChanges}`.execute(db)
  return rows
}

/** What is queued for it, or was sent. */
async function readWritebacks({ db, project }: ProjectDb, id: string): Promise<ConversationData['writebacks']> {
  const { rows } = await sql<ConversationData['writebacks'][number]>`
    select id, operation, status from writebacks
    where project_id = ${project} and lane = ${`conversation/${id.toLowerCase()}`} order by seq desc limit 20`.execute(
    db,
  )
  return rows
}

const maxConversations = 50

/** Null: there is no such visitor. */
export async function readVisitor({ db, project }: ProjectDb, id: string): Promise<VisitorData | null> {
  const { rows } = await sql<Pick<VisitorData, 'id' | 'name' | 'email' | 'deletedAt'> & { raw: string }>`
    select id, name, email, deleted_at as "deletedAt", raw from visitors
    where project_id = ${project} and id = ${id}`.execute(db)
  const [visitor] = rows
  if (visitor === undefined) return null
  const { raw, ...known } = visitor
  const conversations = await sql<Omit<ConversationRow, 'isOpen'> & { handled: string | null }>`
    select id, null as name, last_message_at as "lastAt", handled_at as handled, null as words from conversations
    where project_id = ${project} and visitor_id = ${id} and deleted_at is null
    order by last_message_at desc limit ${maxConversations}`.execute(db)
  const activity = await sql<{ at: string | null; raw: string }>`
    select occurred_at as at, raw from visitor_activity where project_id = ${project} and visitor_id = ${id}
      and deleted_at is null order by occurred_at desc limit ${maxConversations}`.execute(db)
  return {
    ...known,
    fields: fieldsOf(raw).filter(({ name }) => !['id', 'name', 'email'].includes(name)),
    conversations: conversations.rows.map(({ handled, ...row }) => ({ ...row, isOpen: handled === null })),
    activity: activity.rows.map((row) => ({ at: row.at, text: textOf(row.raw) })),
  }
}

const maxFields = 60

/** The row as the service sent it. */
function fieldsOf(raw: string): { name: string; value: string }[] {
  const row: unknown = JSON.parse(raw)
  if (typeof row !== 'object' || row === null) return []
  const fields = Object.entries(row).filter(([, value]) => value !== null)
  return fields.slice(0, maxFields).map(([name, value]) => ({ name, value: valueText(value) }))
}

function textOf(raw: string): string {
  return fieldsOf(raw)
    .map(({ name, value }) => `${name}: ${value}`)
    .join(' · ')
}

function valueText(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 500)
}
