/** Reads conversations and their messages for the numbers of the service's rollups, some conversations at a time. */
import { setImmediate } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import {
  type ConversationCounter,
  type CountedMeasure,
  createConversationCounter,
} from '../../core/analytics/rollup-conversation-counter.ts'
import type { Handling } from '../../core/analytics/rollup-conversation-days.ts'
import type { RollupConversation } from '../../core/analytics/rollup-conversation-filter.ts'
import type { Candidate } from '../../core/analytics/rollup-definitions.ts'
import { createRoleOfSender, type RoleOfSender } from '../../core/analytics/sender-roles.ts'
import type { EpochSeconds } from '../../core/time.ts'
import { inList } from '../database/dialect.ts'
import { isWithin, type RollupRange } from './rollup-range.ts'
import { epochSeconds, jsonArray } from './sql-time.ts'

/** Messages that are read at once, unless one conversation has more. */
const messagesAtOnce = 5000
/** Conversations that are read at once: the first time, and at most. */
const [firstSize, maxSize] = [50, 1000]

export async function readConversationCandidates(
  range: RollupRange,
  measures: readonly CountedMeasure[],
): Promise<Candidate[]> {
  const counter = createConversationCounter(measures, range.days)
  const roleOf = createRoleOfSender(range.settings.roles)
  let [after, size] = ['', firstSize]
  for (;;) {
    const conversations = await readConversations(range, after, size)
    const last = conversations.at(-1)
    if (last === undefined) break
    const messages = await addConversations(range, conversations, after, counter, roleOf)
    after = last.id
    size = Math.max(1, Math.min(maxSize, Math.floor((size * messagesAtOnce) / Math.max(1, messages))))
    await setImmediate()
  }
  return measures.flatMap(counter.candidatesOf)
}

/** How many conversations have each origin. */
export async function countOrigins(range: RollupRange): Promise<(readonly [origin: string | null, count: number])[]> {
  const { rows } = await sql<{ origin: string | null; count: number }>`
    select c.origin, count(*) as count from conversations c
    where ${isCompared(range)} group by c.origin`.execute(range.db)
  return rows.map(({ origin, count }) => [origin, Number(count)])
}

/** All that were created, or had a message or a handling, since the first day. */
function isCompared({ project, from }: RollupRange): RawBuilder<unknown> {
  return sql`c.project_id = ${project}
    and (c.created_at >= ${from} or c.last_message_at >= ${from} or c.handled_at >= ${from})`
}

/** By id, those after this one. */
async function readConversations(range: RollupRange, after: string, limit: number): Promise<RollupConversation[]> {
  const { db, kind, project } = range
  const firstOf = (role: string) => sql`(
    select ${min(kind)} from fct_contribution s
    where s.project_id = ${project} and s.conversation_id = c.id and s.role = ${role})`
  const { rows } = await sql<RollupConversation>`
    select c.id, c.visitor_id as "visitorId", c.origin, ${epochSeconds(kind, 'c.created_at')} as "createdAt",
      ${epochSeconds(kind, 'c.deleted_at')} as "deletedAt", f.opened_by as "openedBy",
      ${epochSeconds(kind, 'f.first_visitor_at')} as "firstVisitorAt",
      ${firstOf('human')} as "firstHumanAt", ${firstOf('ai')} as "firstAiAt"
    from conversations c left join fct_conversation f on f.project_id = c.project_id and f.conversation_id = c.id
    where ${isCompared(range)} and c.id > ${after} order by c.id limit ${limit}`.execute(db)
  return rows
}

function min(kind: RollupRange['kind']): RawBuilder<EpochSeconds | null> {
  return kind === 'sqlite'
    ? sql`unixepoch(min(s.first_at))`
    : sql`cast(floor(extract(epoch from min(s.first_at))) as bigint)`
}

/** How many messages they have. */
async function addConversations(
  range: RollupRange,
  conversations: readonly RollupConversation[],
  after: string,
  { addMessages, addConversation }: ConversationCounter,
  roleOf: RoleOfSender,
): Promise<number> {
  const ids = conversations.map(({ id }) => id)
  const groups = Map.groupBy(await readMessages(range, ids), ({ conversation }) => conversation)
  const handlings = Map.groupBy(await readHandlings(range, after, ids.at(-1) ?? ''), ({ conversation }) => conversation)
  let count = 0
  for (const row of conversations) {
    for (const { senderType, isUtterance, times } of groups.get(row.id) ?? []) {
      const read: EpochSeconds[] = JSON.parse(times)
      addMessages(isUtterance ? roleOf(senderType) : 'event', read)
      count += read.length
    }
    addConversation(row, handlings.get(row.id) ?? [])
  }
  return count
}

/** Messages of one sender type in a conversation. `times`: as JSON, which is far cheaper than a row for each. */
type MessageGroup = {
  readonly conversation: string
  readonly senderType: string | null
  readonly isUtterance: unknown
  readonly times: string
}

async function readMessages({ db, kind, project, from }: RollupRange, ids: readonly string[]): Promise<MessageGroup[]> {
  // Not the bare column: the index by time would lead to the messages of all conversations.
  const { rows } = await sql<MessageGroup>`
    select conversation_id as conversation, sender_type as "senderType",
      coalesce(kind = 'utterance', false) as "isUtterance", ${jsonArray(kind, epochSeconds(kind, 'created_at'))} as times
    from messages
    where project_id = ${project} and conversation_id ${inList(kind, ids)}
      and coalesce(created_at, created_at) >= ${from} and deleted_at is null
    group by 1, 2, 3`.execute(db)
  return rows
}

async function readHandlings(range: RollupRange, after: string, last: string) {
  const { db, kind, project } = range
  const { rows } = await sql<Handling & { conversation: string }>`
    select conversation_id as conversation, ${epochSeconds(kind, 'from_at')} as at, ${epochSeconds(kind, 'to_at')} as until
    from fct_state where project_id = ${project} and conversation_id > ${after} and conversation_id <= ${last}
      and state = 'handled' and ${isWithin(range, 'from_at')}`.execute(db)
  return rows
}
