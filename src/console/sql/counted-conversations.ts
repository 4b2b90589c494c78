/** The conversations that a number of a page about a period counts. */
import { sql } from 'kysely'
import type { FactFilter } from '../../analytics/analytics.ts'
import { conversationsOf } from '../../analytics/sql/read-period-table.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { rowsPerPage } from '../core/list-page.ts'

/**
 * Those that were written in last come first. `after`: the `next` of the page before; null = the
 * first one. Reads the facts from end to end.
 */
export async function readCountedConversations(
  context: ProjectDb,
  filter: FactFilter,
  after: string | null,
  limit = rowsPerPage,
) {
  const offset = Number(after ?? 0)
  const { db, project } = context
  const counted = conversationsOf(project, filter)
  const { rows } = await sql<
    { id: string; total: number; messages: number } & Record<
      'name' | 'email' | 'lastAt' | 'handledAt' | 'agent',
      string | null
    >
  >`
    select found.*, v.name, v.email from (
      select c.conversation_id as id, c.visitor_id as visitor, c.last_utterance_at
      as "lastAt", c.handled_at as "handledAt",
        c.last_human_name as agent, c.messages, count(*) over () as total
      from fct_conversation c where c.project_id = ${project} and ${sql.raw(counted)}
      order by c.last_utterance_at is null, c.last_utterance_at desc, c.conversation_id
      limit ${limit} offset ${offset}
    ) found left join visitors v on v.project_id = ${project} and v.id = found.visitor
    order by found."lastAt" is null, found."lastAt" desc, found.id`.execute(db)
  const total = Number(rows[0]?.total ?? 0)
  const shown = offset + rows.length
  return { rows, total, next: shown < total ? String(shown) : null }
}
