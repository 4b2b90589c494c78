/** Which reading came before a change of a conversation, and since when the conversation of a wait was open. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function handlings(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { time, local_date, int32 } = sqlTypes[kind]
  const statements = [
    `alter table conversation_changes add column old_read_at ${time}`,
    `alter table fct_wait add column open_from_date ${local_date}`,
    `alter table fct_wait add column open_from_hour ${int32}`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
