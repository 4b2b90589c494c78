/** Replaces the facts of conversations, and what can be searched of them, by what their stored rows say now. */
import { sql } from 'kysely'
import { deriveConversationFacts } from '../../core/analytics/conversation-facts.ts'
import type { ConversationHistory } from '../../core/analytics/conversation-history.ts'
import { type IndexedConversation, replaceSearchEntries } from '../console/search-index.ts'
import { inList } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { readHistories } from './conversation-histories.ts'
import { deleteRows, insertRows } from './fact-rows.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import { createSenderTypes } from './sender-types.ts'

/** Messages that are held in memory at once, unless one conversation has more. */
const maxMessagesPerGroup = 10_000
/** Conversations of the first group. The next ones are smaller or larger, as these show. */
const firstGroupSize = 50
/** Messages of one transaction: half a second, for which other writers of the project wait. */
const messagesPerTransaction = 50_000

export const conversationFacts: FactDerivation = {
  kind: 'conversation',
  replaceFacts,
  listIds,
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
  histories: readonly ConversationHistory[],
): Promise<void> {
  const facts = histories.map((history) => deriveConversationFacts(history, source.calendar, source.mirroredSince))
  await deleteFacts(source, ids)
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
  await replaceSearchEntries(source, ids, source.hasSearch ? histories.map(toIndexed) : [])
}

function toIndexed({ id, createdAt, messages }: ConversationHistory): IndexedConversation {
  return { id, lastAt: messages.reduce((last, { at }) => Math.max(last, at ?? 0), createdAt ?? 0) }
}

/** Each conversation that has facts has a row in fct_conversation: there is nothing else to delete for a new one. */
async function deleteFacts(source: FactSource, ids: readonly string[]): Promise<void> {
  const { db, kind, project } = source
  const { rows } = await sql<{ id: string }>`
    delete from fct_conversation where project_id = ${project} and conversation_id ${inList(kind, ids)}
    returning conversation_id as id`.execute(db)
  if (rows.length === 0) return
  const known = rows.map(({ id }) => id)
  for (const table of ['fct_wait', 'fct_state', 'fct_contribution'] as const)
    await deleteRows(source, table, 'conversation_id', known)
}

async function listIds({ db, project }: ProjectDb, after: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from (select id from conversations where project_id = ${project} and id > ${after} order by id limit ${limit}) as stored
    union
    select id from (select conversation_id as id from fct_conversation
      where project_id = ${project} and conversation_id > ${after} order by conversation_id limit ${limit}) as derived
    order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}
