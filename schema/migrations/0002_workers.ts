/** What several processes need to share the work: locks and results by stream, request budgets, workers. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function workers(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text, integer, time } = sqlTypes[kind]
  const statements = [
    // A lock lasts only as long as a sync run, so none needs to be carried over.
    'drop table sync_locks',
    `create table sync_locks (project_id ${key} not null, stream ${key} not null, token ${text} not null,
      host ${text} not null, pid ${integer} not null, process ${text} not null, since ${time} not null,
      beat_at ${integer} not null, primary key (project_id, stream))`,
    `create table sync_streams (project_id ${key} not null, stream ${key} not null, synced_at ${time}, skipped ${text},
      failed ${text}, primary key (project_id, stream))`,
    `create table sync_projects (project_id ${key} not null, paused_until ${integer}, paused_key ${text},
      paused_why ${text}, budget_lost_at ${integer}, budget_lost_why ${text}, primary key (project_id))`,
    `create table sync_budgets (name ${key} not null, version ${text} not null, state ${text} not null,
      primary key (name))`,
    `create table sync_keys (name ${key} not null, used_at ${integer} not null, primary key (name))`,
    `create table sync_workers (id ${key} not null, host ${text} not null, pid ${integer} not null,
      process ${text} not null, queue ${text} not null, since ${time} not null, beat_at ${integer} not null,
      primary key (id))`,
    `alter table sync_runs add column holder ${text}`,
    `alter table sync_gaps add column seen_at ${integer}`,
    `alter table sync_children add column whole ${integer}`,
    'drop index children_to_refresh',
    `create index children_to_refresh on sync_children (project_id, stream, due_at)
      where due_at is not null and fetched > 0 and whole is null`,
    `create index children_to_proofread on sync_children (project_id, stream, due_at)
      where due_at is not null and fetched > 0 and whole is not null`,
    'create index runs_unfinished on sync_runs (project_id) where finished_at is null',
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}
