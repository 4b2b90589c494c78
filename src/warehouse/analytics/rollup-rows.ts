/**
 * Reads what the numbers of the service's rollups may count: one query for each population, for all days at once. Rows
 * that no definition tells apart are grouped, so that little leaves the database.
 */
import { sql } from 'kysely'
import type { Role } from '../../core/analytics/conversation-history.ts'
import type { RollupDays } from '../../core/analytics/rollup-days.ts'
import type { RollupConversation, RollupRows } from '../../core/analytics/rollup-events.ts'
import { createRoleOfSender } from '../../core/analytics/sender-roles.ts'
import type { EpochSeconds } from '../../core/time.ts'
import { readRollupAnswers } from './rollup-answers.ts'
import { groupedQuarter, groupedTime, type RollupRange, type RollupSource, toRange } from './rollup-range.ts'
import { readActiveVisitors, readCalls, readVisitors, type UndocumentedColumns } from './rollup-undocumented.ts'
import { epochSeconds } from './sql-time.ts'

export async function readRollupRows(
  source: RollupSource,
  days: RollupDays,
  columns: UndocumentedColumns,
): Promise<RollupRows> {
  const range = toRange(source, days)
  // Each reads all messages of these days; a server does so at the same time.
  const [lastMessages, messages, activeConversations] = await Promise.all([
    readLastMessages(range),
    readMessages(range),
    readActiveConversations(range),
  ])
  return {
    conversations: await readConversations(range),
    lastMessages,
    handlings: await readHandlings(range),
    messages,
    activeConversations,
    answers: await readRollupAnswers(range),
    visitors: await readVisitors(range, columns.visitorTimes),
    activeVisitors: await readActiveVisitors(range),
    calls: await readCalls(range, columns),
  }
}

/** All that were created, or had a message or a handling, since the first day. */
async function readConversations({ db, kind, project, from }: RollupRange): Promise<Map<string, RollupConversation>> {
  const firstOf = (role: string) => sql`(
    select ${min(kind)} from fct_contribution s
    where s.project_id = ${project} and s.conversation_id = c.id and s.role = ${role})`
  const { rows } = await sql<RollupConversation>`
    select c.id, c.visitor_id as "visitorId", c.origin, ${epochSeconds(kind, 'c.created_at')} as "createdAt",
      ${epochSeconds(kind, 'c.deleted_at')} as "deletedAt", f.opened_by as "openedBy",
      ${epochSeconds(kind, 'f.first_visitor_at')} as "firstVisitorAt",
      ${firstOf('human')} as "firstHumanAt", ${firstOf('ai')} as "firstAiAt"
    from conversations c left join fct_conversation f on f.project_id = c.project_id and f.conversation_id = c.id
    where c.project_id = ${project} and (c.created_at >= ${from} or c.last_message_at >= ${from} or c.handled_at >= ${from})
  `.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

function min(kind: RollupRange['kind']) {
  return kind === 'sqlite'
    ? sql`unixepoch(min(s.first_at))`
    : sql`cast(floor(extract(epoch from min(s.first_at))) as bigint)`
}

type ConversationTime = RollupRows['lastMessages'][number]

/** Of messages of a conversation that all readings show together, only the last one. */
async function readLastMessages(range: RollupRange): Promise<ConversationTime[]> {
  const { db, kind, project, from, days } = range
  const { rows } = await sql<ConversationTime>`
    select conversation, at, until from (
      select conversation, at, lead(at) over (partition by conversation order by at) as until from (
        select conversation_id as conversation, ${epochSeconds(kind, 'created_at')} as at from messages
        where project_id = ${project} and created_at >= ${from} and deleted_at is null
      ) as timed
    ) as followed
    where at < ${sql.lit(days.to)}
      and (until is null or ${groupedQuarter(range, 'at')} <> ${groupedQuarter(range, 'until')})`.execute(db)
  const readTimes = days.windows.map(({ readAt }) => readAt)
  const isLastOfSome = ({ at, until }: ConversationTime) =>
    until === null ||
    days.pieceOf(at) !== days.pieceOf(until) ||
    readTimes.some((readAt) => at <= readAt && readAt < until)
  return rows.filter(isLastOfSome)
}

async function readHandlings({ db, kind, project, from, to }: RollupRange): Promise<ConversationTime[]> {
  const { rows } = await sql<ConversationTime>`
    select conversation_id as conversation, ${epochSeconds(kind, 'from_at')} as at, ${epochSeconds(kind, 'to_at')} as until
    from fct_state where project_id = ${project} and state = 'handled' and from_at >= ${from} and from_at < ${to}`.execute(
    db,
  )
  return rows
}

type SenderRow = { readonly at: EpochSeconds; readonly senderType: string | null; readonly isUtterance: unknown }

async function readMessages(range: RollupRange): Promise<RollupRows['messages']> {
  const { rows } = await sql<SenderRow & { count: number }>`
    select at, "senderType", "isUtterance", count(*) as count from (
      select ${groupedQuarter(range, 'at')} as at, "senderType", "isUtterance" from (${timedMessages(range)}) as timed
    ) as grouped
    group by at, "senderType", "isUtterance"`.execute(range.db)
  const roleOf = createRoleOfRow(range)
  return rows.map((row) => ({ at: row.at, count: Number(row.count), senderType: row.senderType, role: roleOf(row) }))
}

async function readActiveConversations(range: RollupRange): Promise<RollupRows['activeConversations']> {
  const { rows } = await sql<SenderRow & { conversation: string }>`
    select distinct ${groupedTime(range, 'at')} as at, conversation, "senderType", "isUtterance"
    from (${timedMessages(range)}) as timed`.execute(range.db)
  const roleOf = createRoleOfRow(range)
  const active = new Map<string, { at: EpochSeconds; conversation: string; roles: Set<Role> }>()
  for (const row of rows) {
    const { at, conversation } = row
    const key = `${at} ${conversation}`
    const found = active.get(key)
    if (found === undefined) active.set(key, { at, conversation, roles: new Set([roleOf(row)]) })
    else found.roles.add(roleOf(row))
  }
  return [...active.values()]
}

function timedMessages({ kind, project, from, to }: RollupRange) {
  return sql`
    select conversation_id as conversation, ${epochSeconds(kind, 'created_at')} as at, sender_type as "senderType",
      coalesce(kind = 'utterance', false) as "isUtterance" from messages
    where project_id = ${project} and created_at >= ${from} and created_at < ${to} and deleted_at is null`
}

function createRoleOfRow({ settings }: RollupRange) {
  const roleOf = createRoleOfSender(settings.roles)
  return ({ senderType, isUtterance }: SenderRow) => (isUtterance ? roleOf(senderType) : 'event')
}
