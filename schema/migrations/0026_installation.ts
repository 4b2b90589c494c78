/** The id of this installation, which keeps its jobs apart in a shared queue; and how each worker is configured. */
import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function installation(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text } = sqlTypes[kind]
  const statements = [
    `create table sync_installation (id ${key} not null primary key)`,
    `insert into sync_installation (id) values ('${randomUUID()}')`,
    `alter table sync_workers add column configuration ${text}`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
