/** Deliveries of webhooks, kept until they have been processed and for a while longer. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function webhooks(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text, integer, time } = sqlTypes[kind]
  const statements = [
    `create table webhook_deliveries (project_id ${key} not null, id ${key} not null, received_at ${time} not null,
      bytes ${integer} not null, body ${text} not null, due_at ${integer}, attempts ${integer} not null,
      taken_at ${time}, found ${text}, primary key (project_id, id))`,
    'create index deliveries_due on webhook_deliveries (project_id, due_at) where due_at is not null',
    'create index deliveries_by_age on webhook_deliveries (received_at)',
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
