/** What lists and numbers of conversations lack while not all is read, or derived. */
import { sql } from 'kysely'
import { countPendingConversations } from '../../analytics/sql/facts-state.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/** `pending`: conversations that changed and are not derived yet. */
export async function readUnfinished(context: ProjectDb) {
  const { db, project } = context
  const { rows } = await sql`
    select 1 from sync_streams where project_id = ${project}
    and stream in ('conversations', 'messages') and synced_at is not null`.execute(db)
  const { conversations: pending } = await countPendingConversations(context)
  return { isRead: rows.length === 2, pending }
}
