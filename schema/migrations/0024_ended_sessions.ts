/** Sessions of the console that have ended before their time, for all workers. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function endedSessions(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, integer } = sqlTypes[kind]
  await sql
    .raw(`create table console_ended_sessions (session_hash ${key} not null, expires_at ${integer} not null,
      primary key (session_hash))`)
    .execute(db)
}
