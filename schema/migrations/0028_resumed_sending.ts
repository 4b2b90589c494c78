/** Until when a person has looked at what a restored backup had queued, so that it is not taken for a restored one again. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function resumedSending(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await sql.raw(`alter table sync_sends add column resumed_at ${sqlTypes[kind].integer}`).execute(db)
}
