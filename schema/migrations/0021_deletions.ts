/** Deletions are counted by time, the least recent full reads of child lists are found, and rows that letters doubled are joined. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function deletions(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  for (const table of ['conversations', 'visitors', 'calls']) {
    await run(`drop index ${table}_deleted`)
    await run(`create index ${table}_deleted on ${table} (project_id, deleted_at) where deleted_at is not null`)
  }
  // A gap says so now.
  await run(`delete from sync_cursors where stream like '%:doubted'`)
  await run(`alter table sync_children add column full_read_at ${sqlTypes[kind].integer}`)
}
