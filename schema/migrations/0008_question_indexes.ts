/** Indexes for typical queries: one metric over time, and reopened conversations. */
import { type Kysely, sql } from 'kysely'

const statements = [
  'create index metrics_by_name on analytics_metrics (metric, project_id, window_from)',
  "create index changes_of_handled on conversation_changes (project_id, conversation_id) where field = 'handled_at'",
]

export async function questionIndexes(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
