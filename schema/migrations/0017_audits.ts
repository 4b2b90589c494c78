/** For audits: random samples of the mirror that are read again. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function audits(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, integer, time, json } = sqlTypes[kind]
  const statements = [
    `create table sync_audits (project_id ${key} not null, id ${key} not null, stream ${key} not null,
      started_at ${time} not null, finished_at ${time}, population ${integer} not null, drawn ${integer} not null,
      compared ${integer} not null, differing ${integer} not null, gone ${integer} not null,
      unreadable ${integer} not null, requests ${integer} not null, took_ms ${integer} not null, synced_at ${time},
      primary key (project_id, id))`,
    `create table sync_audit_rows (project_id ${key} not null, audit_id ${key} not null, row_id ${key} not null,
      position ${integer} not null, state ${key} not null, differences ${json},
      primary key (project_id, audit_id, row_id))`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
