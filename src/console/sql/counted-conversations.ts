/** The conversations that a number of a page about a period counts. */
import { sql } from 'kysely'
import type { FactFilter } from '../../analytics/analytics.ts'
import { conversationsOf } from '../../analytics/sql/read-period-table.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

export type CountedConversation = {
  readonly id: string
  readonly total: number
  readonly messages: number
} & Readonly<Record<'name' | 'email' | 'lastAt' | 'handledAt' | 'agent', string | null>>

export const conversationsPerPage = 50

/** Those that were written in last come first. Reads the facts from end to end. */
export async function readCountedConversations(
  context: ProjectDb,
  filter: FactFilter,
  offset: number,
  limit = conversationsPerPage,
) {
  const { db, project } = context
  const counted = conversationsOf(project, filter)
  const { rows } = await sql<CountedConversation>`
    select found.*, v.name, v.email from (
      select c.conversation_id as id, c.visitor_id as visitor, c.last_utterance_at
      as "lastAt", c.handled_at as "handledAt",
        c.last_human_name as agent, c.messages, count(*) over () as total
      from fct_conversation c where c.project_id = ${project} and ${sql.raw(counted)}
      order by c.last_utterance_at is null, c.last_utterance_at desc, c.conversation_id
      limit ${limit} offset ${offset}
    ) found left join visitors v on v.project_id = ${project} and v.id = found.visitor
    order by found."lastAt" is null, found."lastAt" desc, found.id`.execute(db)
  return { rows, total: Number(rows[0]?.total ?? 0) }
}

/** Of one reading, unless they are more. */
const rowsPerRead = 20_000

/** All of them. */
export async function* listCountedConversations(context: ProjectDb, filter: FactFilter) {
  for (let offset = 0; ; offset += rowsPerRead) {
    const { rows } = await readCountedConversations(context, filter, offset, rowsPerRead)
    yield* rows
    if (rows.length < rowsPerRead) return
  }
}
