/**
 * Reads what the numbers of the service's rollups may count: one query for each population, for all days at once. Rows
 * that no definition tells apart are grouped, so that little leaves the database.
 */
import { sql } from 'kysely'
import type { RollupDays } from '../../core/analytics/rollup-days.ts'
import type { RollupConversation, RollupRows } from '../../core/analytics/rollup-events.ts'
import { readRollupAnswers } from './rollup-answers.ts'
import { readRollupMessages } from './rollup-messages.ts'
import { type RollupRange, type RollupSource, toRange } from './rollup-range.ts'
import { readActiveVisitors, readCalls, readVisitors, type UndocumentedColumns } from './rollup-undocumented.ts'
import { epochSeconds } from './sql-time.ts'

export async function readRollupRows(
  source: RollupSource,
  days: RollupDays,
  columns: UndocumentedColumns,
): Promise<RollupRows> {
  const range = toRange(source, days)
  return {
    ...(await readRollupMessages(range)),
    conversations: await readConversations(range),
    handlings: await readHandlings(range),
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

type Handling = RollupRows['handlings'][number]

async function readHandlings({ db, kind, project, from, to }: RollupRange): Promise<Handling[]> {
  const { rows } = await sql<Handling>`
    select conversation_id as conversation, ${epochSeconds(kind, 'from_at')} as at, ${epochSeconds(kind, 'to_at')} as until
    from fct_state where project_id = ${project} and state = 'handled' and from_at >= ${from} and from_at < ${to}`.execute(
    db,
  )
  return rows
}
