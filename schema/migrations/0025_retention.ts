/** For noticing a restored backup: how often each project has sent, under a name that a new warehouse does not share. */
import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function retention(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text, integer } = sqlTypes[kind]
  const statements = [
    `create table sync_sends (project_id ${key} not null, token ${text} not null, sends ${integer} not null,
      held_at ${integer}, held_why ${text}, primary key (project_id))`,
    `insert into sync_sends (project_id, token, sends) values ('', '${randomUUID()}', 0)`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
