/** What the mirror shows of a write-back's target. */
import { type RawBuilder, sql } from 'kysely'
import type { ProjectContext } from '../mirror/project-context.ts'

/** In the form in which the database notes it when a row is inserted. */
export function selectTargetSnapshot({ kind }: Pick<ProjectContext, 'kind'>, row: 'writebacks' | 'excluded'): RawBuilder<unknown> {
  const of = (column: string) => sql.ref(`${row}.${column}`)
  const object = sql.raw(kind === 'sqlite' ? 'json_object' : 'jsonb_build_object')
  const at = sql.raw(
    kind === 'sqlite' ? 'last_message_at' : `to_char(last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
  )
  return sql`case when ${of('operation')} in ('message','handled')
    then (select ${object}('last_message_at', ${at}) from conversations
      where conversations.project_id = ${of('project_id')} and conversations.id = ${of('conversation_id')})
    else (select ${object}('name', name, 'email', email) from visitors
      where visitors.project_id = ${of('project_id')} and visitors.id = ${of('visitor_id')}) end`
}
