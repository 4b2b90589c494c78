/** Replaces the facts of conversations, and what can be searched of them, by what their stored rows say now. */
import { sql } from 'kysely'
import { type EpochSeconds, parseTime } from '../../values/time.ts'
import { epochSeconds, inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { deriveConversationFacts } from '../core/conversation-facts.ts'
import type { ConversationHistory, HandledChange, HistoryMessage } from '../core/conversation-history.ts'
import type { RoleOfSender } from '../core/sender-roles.ts'
import { deleteRows, type FactDerivation, type FactSource, idsOf, insertRows } from './fact-rows.ts'
import { createSenderTypes } from './reference-tables.ts'
import { insertSearchEntries, removeSearchEntries } from './search-index.ts'

/** Messages that are held in memory at once, unless one conversation has more. */
const maxMessagesPerGroup = 10_000
/** Conversations of the first group. The next ones are smaller or larger, as these show. */
const firstGroupSize = 50
/** Messages of one transaction: half a second, for which other writers of the project wait. */
const messagesPerTransaction = 50_000

export const conversationFacts: FactDerivation = {
  kind: 'conversation',
  replaceFacts,
  listIds: idsOf(['conversations', 'id'], ['fct_conversation', 'conversation_id']),
  idsPerRebuildStep: 2000,
}

async function replaceFacts(source: FactSource, ids: readonly string[]): Promise<number> {
  const senderTypes = createSenderTypes(source.settings)
  let [replaced, messages, size] = [0, 0, firstGroupSize]
  while (replaced < ids.length && messages < messagesPerTransaction) {
    const group = ids.slice(replaced, replaced + size)
    const maxMessages = group.length === 1 ? Number.POSITIVE_INFINITY : maxMessagesPerGroup
    // To count the messages beforehand would take as long as to read them.
    const histories = await readHistories(source, group, senderTypes.roleOf, maxMessages)
    if (histories === 'too many messages') {
      size = Math.ceil(group.length / 2)
      continue
    }
    await replaceGroup(source, group, histories)
    const read = histories.reduce((sum, history) => sum + history.messages.length, 0)
    if (read < maxMessagesPerGroup / 4) size *= 2
    replaced += group.length
    messages += read
  }
  await senderTypes.store(source)
  return replaced
}

async function replaceGroup(
  source: FactSource,
  ids: readonly string[],
  histories: readonly StoredHistory[],
): Promise<void> {
  const facts = histories.map((history) => deriveConversationFacts(history, source.calendar, source.mirroredSince))
  await removeSearchEntries(source, await deleteFacts(source, ids))
  const rowsOf = {
    fct_conversation: facts.map(({ conversation }) => conversation),
    fct_wait: facts.flatMap(({ waits }) => waits),
    fct_state: facts.flatMap(({ states }) => states),
    fct_contribution: facts.flatMap(({ contributions }) => contributions),
  }
  await insertRows(source, 'fct_conversation', rowsOf.fct_conversation)
  await insertRows(source, 'fct_wait', rowsOf.fct_wait)
  await insertRows(source, 'fct_state', rowsOf.fct_state)
  await insertRows(source, 'fct_contribution', rowsOf.fct_contribution)
  if (source.hasSearch) await insertSearchEntries(source, histories.map(toIndexed))
}

function toIndexed({ id, createdAt, messages }: StoredHistory) {
  const lastAt = messages.reduce((last, { at }) => Math.max(last, at ?? 0), createdAt ?? 0)
  const texts = messages.flatMap(({ role, content }) => (role === 'event' || content === null ? [] : [content]))
  return { id, lastAt, texts }
}

/**
 * Returns those that had any. Each conversation that has facts, or can be searched, has a row in fct_conversation: there is
 * nothing else to delete for a new one, and Postgres would read the whole table to find that out while it grows.
 */
async function deleteFacts(source: FactSource, ids: readonly string[]): Promise<string[]> {
  const { db, kind, project } = source
  const { rows } = await sql<{ id: string }>`
    delete from fct_conversation where project_id = ${project} and conversation_id ${inList(kind, ids)}
    returning conversation_id as id`.execute(db)
  const known = rows.map(({ id }) => id)
  if (known.length === 0) return known
  for (const table of ['fct_wait', 'fct_state', 'fct_contribution'] as const)
    await deleteRows(source, table, 'conversation_id', known)
  return known
}

/** Reads what the facts of conversations are derived from: stored rows, with times in seconds since 1970. */
type ConversationColumns = {
  readonly id: string
  readonly visitorId: string | null
  readonly origin: string | null
  readonly assignedAgentId: string | null
  readonly createdAt: EpochSeconds | null
  readonly handledAt: EpochSeconds | null
  readonly isMessagesComplete: boolean | number | null
}

/** `content`: null also if words are not indexed. */
type StoredMessage = HistoryMessage & { readonly content: string | null }
type StoredHistory = Omit<ConversationHistory, 'messages'> & { readonly messages: readonly StoredMessage[] }

/** The conversations with these ids that exist, unless they have more messages. */
async function readHistories(
  source: FactSource,
  ids: readonly string[],
  roleOf: RoleOfSender,
  maxMessages: number,
): Promise<StoredHistory[] | 'too many messages'> {
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
  { db, kind, project, hasSearch }: FactSource,
  conversationIds: readonly string[],
  roleOf: RoleOfSender,
  maxMessages: number,
): Promise<Map<string, StoredMessage[]> | null> {
  const limit = Number.isFinite(maxMessages) ? sql`limit ${sql.lit(maxMessages + 1)}` : sql``
  type Texts = Record<'conversation' | 'sender' | 'kind' | 'name' | 'content', string | null>
  const { rows } = await sql<Pick<StoredMessage, 'id' | 'at'> & Texts>`
    select conversation_id as conversation, id, ${epochSeconds(kind, 'created_at')} as at, sender_type as sender, kind,
      sender_display_name as name, ${hasSearch ? sql`content` : sql`null`} as content from messages
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
      content: row.content,
    }),
  )
}

/** In the order in which they were seen. */
async function readHandledChanges(
  { db, kind, project }: ProjectDb,
  conversationIds: readonly string[],
): Promise<Map<string, HandledChange[]>> {
  const { rows } = await sql<Record<'conversation' | 'old' | 'new' | 'read' | 'seen', string | null>>`
    select conversation_id as conversation, old_value as old, new_value as new, old_read_at as read, seen_at as seen
    from conversation_changes
    where project_id = ${project} and field = 'handled_at'
      and conversation_id ${inList(kind, conversationIds)}
    order by id`.execute(db)
  return groupBy(
    rows,
    (row) => row.conversation ?? '',
    (row) => ({
      old: parseTime(row.old) ?? null,
      new: parseTime(row.new) ?? null,
      oldReadAt: parseTime(row.read) ?? null,
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
