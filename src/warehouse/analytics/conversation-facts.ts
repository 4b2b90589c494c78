/** Replaces the facts of conversations, and what can be searched of them, by what their stored rows say now. */
import { sql } from 'kysely'
import { deriveConversationFacts } from '../../core/analytics/conversation-facts.ts'
import type { ConversationHistory } from '../../core/analytics/conversation-history.ts'
import type { RoleOfSender } from '../../core/analytics/sender-roles.ts'
import { type IndexedConversation, replaceSearchEntries } from '../console/search-index.ts'
import type { Db } from '../database/connection-pool.ts'
import { listParameter } from '../database/dialect.ts'
import { readHistories } from './conversation-histories.ts'
import { deleteRows, insertRows } from './fact-rows.ts'
import type { FactDerivation, FactSource } from './fact-source.ts'
import type { FactsContext } from './pending-facts.ts'
import { createSenderTypes } from './sender-types.ts'

const factTables = ['fct_conversation', 'fct_wait', 'fct_state', 'fct_contribution'] as const

/** Messages that are held in memory at once, unless one conversation has more. */
const messagesPerGroup = 5000
/** Messages of one transaction: half a second, for which other writers of the project wait. */
const messagesPerTransaction = 50_000

export const conversationFacts: FactDerivation = {
  kind: 'conversation',
  replaceFacts,
  listIds,
  idsPerRebuildStep: 2000,
}

async function replaceFacts(source: FactSource, trx: Db, ids: readonly string[]): Promise<number> {
  const senderTypes = createSenderTypes(source.settings)
  let [replaced, messages] = [0, 0]
  for (const group of await groupByMessages(source, trx, ids)) {
    if (replaced > 0 && messages + group.messages > messagesPerTransaction) break
    await replaceGroup(source, trx, group.ids, senderTypes.roleOf)
    replaced += group.ids.length
    messages += group.messages
  }
  await senderTypes.store(source, trx)
  return replaced
}

async function replaceGroup(source: FactSource, trx: Db, ids: readonly string[], roleOf: RoleOfSender): Promise<void> {
  const histories = await readHistories(source, trx, ids, roleOf)
  const facts = histories.map((history) => deriveConversationFacts(history, source.calendar, source.mirroredSince))
  for (const table of factTables) await deleteRows(source, trx, table, 'conversation_id', ids)
  const rowsOf = {
    fct_conversation: facts.map(({ conversation }) => conversation),
    fct_wait: facts.flatMap(({ waits }) => waits),
    fct_state: facts.flatMap(({ states }) => states),
    fct_contribution: facts.flatMap(({ contributions }) => contributions),
  }
  await insertRows(source, trx, 'fct_conversation', rowsOf.fct_conversation)
  await insertRows(source, trx, 'fct_wait', rowsOf.fct_wait)
  await insertRows(source, trx, 'fct_state', rowsOf.fct_state)
  await insertRows(source, trx, 'fct_contribution', rowsOf.fct_contribution)
  await replaceSearchEntries(source, trx, ids, histories.map(toIndexed))
}

function toIndexed({ id, createdAt, messages }: ConversationHistory): IndexedConversation {
  return { id, lastAt: messages.reduce((last, { at }) => Math.max(last, at ?? 0), createdAt ?? 0) }
}

type Group = { readonly ids: readonly string[]; readonly messages: number }

/** Keeps the order of the ids. */
async function groupByMessages({ kind, project }: FactsContext, trx: Db, ids: readonly string[]): Promise<Group[]> {
  const { rows } = await sql<{ id: string; messages: number }>`
    select conversation_id as id, count(*) as messages from messages
    where project_id = ${project} and conversation_id in (select value from ${listParameter(kind, ids)} as listed)
    group by conversation_id`.execute(trx)
  const messagesOf = new Map(rows.map(({ id, messages }) => [id, Number(messages)]))
  const groups: { ids: string[]; messages: number }[] = []
  for (const id of ids) {
    const messages = messagesOf.get(id) ?? 0
    const last = groups.at(-1)
    if (last === undefined || last.messages + messages > messagesPerGroup) groups.push({ ids: [id], messages })
    else {
      last.ids.push(id)
      last.messages += messages
    }
  }
  return groups
}

async function listIds({ project }: FactsContext, trx: Db, after: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from (select id from conversations where project_id = ${project} and id > ${after} order by id limit ${limit}) as stored
    union
    select id from (select conversation_id as id from fct_conversation
      where project_id = ${project} and conversation_id > ${after} order by conversation_id limit ${limit}) as derived
    order by id limit ${limit}`.execute(trx)
  return rows.map(({ id }) => id)
}
