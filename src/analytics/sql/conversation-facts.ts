/** Replaces the facts of conversations, and what can be searched, by what their rows say now. */
import { type RawBuilder, sql } from 'kysely'
import { type EpochSeconds, parseTime } from '../../values/time.ts'
import { epochSeconds, inList } from '../../warehouse/dialect.ts'
import { deriveConversationFacts } from '../core/conversation-facts.ts'
import type { ConversationHistory, HistoryMessage } from '../core/handlings.ts'
import type { createRoleOfSender } from '../core/sender-roles.ts'
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
  replaceFacts,
  listIds: idsOf(['conversations', 'id'], ['fct_conversation', 'conversation_id']),
  idsPerRebuildStep: 2000,
}

async function replaceFacts(source: FactSource, ids: readonly string[]): Promise<number> {
  const senderTypes = createSenderTypes(source.settings)
  let replaced = 0
  let messages = 0
  let size = firstGroupSize
  while (replaced < ids.length && messages < messagesPerTransaction) {
    const group = ids.slice(replaced, replaced + size)
    const histories = await readHistories(source, group, senderTypes.roleOf)
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
) {
  const facts = histories.map((history) =>
    deriveConversationFacts(history, source.calendar, source.mirroredSince),
  )
  const { db, kind, project } = source
  // Each conversation with facts or words has a row in fct_conversation: for a new one there is
  // nothing to delete, and Postgres would read the whole table to find that out.
  const { rows } = await sql<{ id: string }>`
    delete from fct_conversation where project_id = ${project}
    and conversation_id ${inList(kind, ids)}
    returning conversation_id as id`.execute(db)
  const known = rows.map(({ id }) => id)
  if (known.length > 0)
    for (const table of ['fct_wait', 'fct_state', 'fct_assignment', 'fct_contribution'] as const)
      await deleteRows(source, table, 'conversation_id', known)
  await removeSearchEntries(source, known)
  const conversations = facts.map(({ conversation }) => conversation)
  const waits = facts.flatMap((fact) => fact.waits)
  const states = facts.flatMap((fact) => fact.states)
  const assignments = facts.flatMap((fact) => fact.assignments)
  const contributions = facts.flatMap((fact) => fact.contributions)
  await insertRows(source, 'fct_conversation', conversations)
  await insertRows(source, 'fct_wait', waits)
  await insertRows(source, 'fct_state', states)
  await insertRows(source, 'fct_assignment', assignments)
  await insertRows(source, 'fct_contribution', contributions)
  if (source.hasSearch) await insertSearchEntries(source, histories.map(toIndexed))
}

function toIndexed({ id, createdAt, messages }: StoredHistory) {
  const lastAt = messages.reduce((last, { at }) => Math.max(last, at ?? 0), createdAt ?? 0)
  const texts = messages.flatMap(({ role, content }) =>
    role === 'event' || content === null ? [] : [content],
  )
  return { id, lastAt, texts }
}

type StoredHistory = Omit<ConversationHistory, 'messages'> & {
  /** `content`: null also if words are not indexed. */
  readonly messages: readonly (HistoryMessage & { readonly content: string | null })[]
}

type Texts<Name extends string> = Record<Name, string | null> & { readonly conversation: string }

/** Unless they have more messages than are to be held in memory. */
async function readHistories(
  { db, kind, project, hasSearch }: FactSource,
  ids: readonly string[],
  roleOf: ReturnType<typeof createRoleOfSender>,
): Promise<StoredHistory[] | 'too many messages'> {
  const read = async <Row>(query: RawBuilder<Row>) => (await query.execute(db)).rows
  // To count the messages beforehand would take as long as to read them.
  const limit = ids.length === 1 ? sql`` : sql`limit ${sql.lit(maxMessagesPerGroup + 1)}`
  const messages = await read(sql<
    Texts<'sender' | 'kind' | 'name' | 'content'> & Pick<HistoryMessage, 'id' | 'at'>
  >`
    select conversation_id as conversation, id, ${epochSeconds(kind, 'created_at')}
    as at, sender_type as sender, kind,
      sender_display_name as name, ${hasSearch ? sql`content` : sql`null`} as content from messages
    where project_id = ${project} and deleted_at is null and conversation_id ${inList(kind, ids)}
    order by conversation_id, id ${limit}`)
  if (ids.length > 1 && messages.length > maxMessagesPerGroup) return 'too many messages'
  type Stored = Record<'createdAt' | 'handledAt' | 'lastMessageAt', EpochSeconds | null> & {
    isMessagesComplete: boolean | number | null
  }
  const conversations = await read(sql<Texts<'visitorId' | 'origin' | 'assignedAgentId'> & Stored>`
    select id as conversation, visitor_id as "visitorId", origin, assigned_agent_id
    as "assignedAgentId",
      ${epochSeconds(kind, 'created_at')} as "createdAt", ${epochSeconds(kind, 'handled_at')}
      as "handledAt",
      ${epochSeconds(kind, 'last_message_at')} as "lastMessageAt", messages_complete
      as "isMessagesComplete"
    from conversations
    where project_id = ${project} and id ${inList(kind, ids)} and deleted_at is null`)
  type Field = 'handled_at' | 'assigned_agent_id' | 'last_message_at'
  const readChanges = async (fields: readonly Field[], of: readonly string[]) => {
    const rows = await read(sql<StoredChange>`
      select conversation_id as conversation, id, field, old_value as old, new_value as new,
        old_read_at as read, seen_at as seen from conversation_changes
      where project_id = ${project} and field in (${sql.join(fields)})
        and conversation_id ${inList(kind, of)}
      order by id`)
    return (field: Field) =>
      Map.groupBy(
        rows.filter((row) => row.field === field),
        ({ conversation }) => conversation,
      )
  }
  const changes = await readChanges(['handled_at', 'assigned_agent_id'], ids)
  const changesOf = changes('handled_at')
  const assignmentsOf = changes('assigned_agent_id')
  // Of most conversations the flag never changes.
  const lastMessagesOf =
    changesOf.size === 0
      ? changesOf
      : (await readChanges(['last_message_at'], [...changesOf.keys()]))('last_message_at')
  const messagesOf = Map.groupBy(messages, ({ conversation }) => conversation)
  return conversations.map(({ conversation: id, lastMessageAt, ...row }) => ({
    ...row,
    id,
    isMessagesComplete: Boolean(row.isMessagesComplete),
    messages: (messagesOf.get(id) ?? []).map((message) => ({
      id: Number(message.id),
      at: message.at,
      role: message.kind === 'utterance' ? roleOf(message.sender) : 'event',
      name: message.name ?? '',
      content: message.content,
    })),
    assignmentChanges: (assignmentsOf.get(id) ?? []).map((change) => ({
      old: change.old,
      new: change.new,
      ...readingsOf(change),
    })),
    handledChanges: (changesOf.get(id) ?? []).map((change) => ({
      old: parseTime(change.old) ?? null,
      new: parseTime(change.new) ?? null,
      ...readingsOf(change),
      ...lastMessagesAt(change, lastMessagesOf.get(id) ?? [], lastMessageAt),
    })),
  }))
}

type StoredChange = Texts<'field' | 'old' | 'new' | 'read' | 'seen'> & { readonly id: string }

const readingsOf = ({ read, seen }: StoredChange) => ({
  oldReadAt: parseTime(read) ?? 0,
  seenAt: parseTime(seen) ?? 0,
})

/**
 * In the copies before and after a change. `changes`: of that time, in order; those of one pair of
 * copies have the same times of reading, and ids in any order.
 */
function lastMessagesAt(
  change: StoredChange,
  changes: readonly StoredChange[],
  current: EpochSeconds | null,
) {
  const own = changes.filter(({ seen, read }) => seen === change.seen && read === change.read)
  const [first] = own
  const last = own.at(-1)
  if (first !== undefined && last !== undefined)
    return {
      oldLastMessageAt: parseTime(first.old) ?? null,
      newLastMessageAt: parseTime(last.new) ?? null,
    }
  const earlier = changes.findLast(({ id }) => id < change.id)
  const later = changes.find(({ id }) => id > change.id)
  const text = earlier !== undefined ? earlier.new : later?.old
  const lastMessageAt = text === undefined ? current : (parseTime(text) ?? null)
  return { oldLastMessageAt: lastMessageAt, newLastMessageAt: lastMessageAt }
}
