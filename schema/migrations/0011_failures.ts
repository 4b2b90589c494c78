/** For `status`: failing jobs of the workers, and requests outside of sync runs. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function failures(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text, integer, time, json } = sqlTypes[kind]
  const statements = [
    `create table sync_failures (project_id ${key} not null, job ${key} not null, subject ${key} not null,
      since ${time} not null, last_at ${time} not null, failures ${integer} not null, reason ${text} not null,
      primary key (project_id, job, subject))`,
    `create table sync_requests (project_id ${key} not null, id ${key} not null, purpose ${text} not null,
      beat_at ${integer} not null, request_log ${json} not null, primary key (project_id, id))`,
    `alter table sync_streams add column failed_since ${time}`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
