/**
 * For noticing a restored backup, and for what is kept only for a while: what has expired can be deleted, also from logs that
 * are otherwise only added to. What a person had erased is not stored again.
 */
import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'
import { schemaOf } from './0005_trigger_rights.ts'

export async function retention(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const triggers = kind === 'sqlite' ? inSqlite() : inPostgres(await schemaOf(db))
  for (const statement of [...tables(kind), ...triggers]) await sql.raw(statement).execute(db)
}

function tables(kind: DatabaseKind): string[] {
  const { key, text, integer, time } = sqlTypes[kind]
  return [
    `create table sync_sends (project_id ${key} not null, token ${text} not null, sends ${integer} not null,
      held_at ${integer}, held_why ${text}, primary key (project_id))`,
    `insert into sync_sends (project_id, token, sends) values ('', '${randomUUID()}', 0)`,
    `create table erased_ids (project_id ${key} not null, id ${key} not null, primary key (project_id, id))`,
    `alter table writebacks add column erased_at ${time}`,
    `alter table availability_snapshots add column same_until ${time}`,
    `alter table availability_snapshots add column same_count ${integer}`,
    'create index runs_by_end on sync_runs (finished_at)',
    'create index gaps_closed on sync_gaps (resolved_at) where resolved_at is not null',
    `create index writebacks_with_words on writebacks (finished_at) where finished_at is not null and erased_at is null`,
  ]
}

const keptEvents = 'the log of write-backs is only ever added to'
const stayErased = 'a write-back whose words were deleted cannot be sent'

/** The columns of each table that name a visitor, a conversation or a call. */
const idColumns: Readonly<Record<string, readonly string[]>> = {
  visitors: ['id'],
  visitor_activity: ['visitor_id'],
  conversations: ['id', 'visitor_id'],
  message_rows: ['conversation_id'],
  conversation_changes: ['conversation_id'],
  calls: ['id'],
  call_recordings: ['call_id'],
}

/** What a call says about its visitor and its conversation is not documented. */
const callFields = ['visitorId', 'conversationId']

function inSqlite(): string[] {
  const isErased = (table: string, columns: readonly string[]) => {
    const fields = table === 'calls' ? callFields.map((field) => `json_extract(new.raw, '$.${field}')`) : []
    const ids = [...columns.map((column) => `new.${column}`), ...fields].map((id) => `lower(${id})`)
    return `exists (select 1 from erased_ids where project_id = new.project_id and id in (${ids.join(', ')}))`
  }
  return [
    'drop trigger events_never_deleted',
    `create trigger events_never_deleted before delete on writeback_events
      when not exists (select 1 from writebacks where project_id = old.project_id and id = old.writeback_id
        and erased_at is not null) begin select raise(abort, '${keptEvents}'); end`,
    'drop trigger console_events_never_deleted',
    `create trigger console_events_never_deleted before delete on console_events
      when old.at > strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-90 days')
      begin select raise(abort, 'the audit log is only ever added to'); end`,
    `create trigger writebacks_stay_erased before update of status on writebacks
      when old.erased_at is not null and new.status is not old.status begin select raise(abort, '${stayErased}'); end`,
    ...Object.entries(idColumns).map(
      ([table, columns]) => `create trigger ${table}_erased before insert on ${table} when ${isErased(table, columns)}
        begin select raise(ignore); end`,
    ),
  ]
}

function inPostgres(schema: string): string[] {
  const refuse = (why: string) => `raise exception '${why}' using errcode = 'check_violation';`
  const isErased = (table: string, columns: readonly string[]) => {
    const fields = table === 'calls' ? callFields.map((field) => `new.raw ->> '${field}'`) : []
    const ids = [...columns.map((column) => `new.${column}`), ...fields].map((id) => `pg_catalog.lower(${id})`)
    return `exists (select 1 from ${schema}.erased_ids where project_id = new.project_id and id in (${ids.join(', ')}))`
  }
  const functions: Readonly<Record<string, string>> = {
    writeback_events_expired: `if exists (select 1 from ${schema}.writebacks where project_id = old.project_id
      and id = old.writeback_id and erased_at is not null) then return old; end if; ${refuse(keptEvents)}`,
    writebacks_stay_erased: refuse(stayErased),
    ...Object.fromEntries(
      Object.entries(idColumns).map(([table, columns]) => [
        `${table}_erased`,
        `if ${isErased(table, columns)} then return null; end if; return new;`,
      ]),
    ),
  }
  const run = (name: string) => `for each row execute function ${schema}.${name}()`
  return [
    ...Object.entries(functions).flatMap(([name, body]) => [
      `create function ${schema}.${name}() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
        as '${`begin ${body} end`.replaceAll("'", "''")}'`,
      `revoke all on function ${schema}.${name}() from public`,
    ]),
    `drop trigger events_never_deleted on ${schema}.writeback_events`,
    `create trigger events_never_deleted before delete on ${schema}.writeback_events ${run('writeback_events_expired')}`,
    `drop trigger console_events_kept on ${schema}.console_events`,
    `create trigger console_events_kept before update on ${schema}.console_events ${run('console_events_kept')}`,
    `create trigger console_events_never_deleted before delete on ${schema}.console_events for each row
      when (old.at > now() - interval '90 days') execute function ${schema}.console_events_kept()`,
    `create trigger writebacks_stay_erased before update of status on ${schema}.writebacks for each row
      when (old.erased_at is not null and new.status is distinct from old.status)
      execute function ${schema}.writebacks_stay_erased()`,
    // They double the time of an insert, so they are enabled when a person is first erased.
    ...Object.keys(idColumns).flatMap((table) => [
      `create trigger ${table}_erased before insert on ${schema}.${table} ${run(`${table}_erased`)}`,
      `alter table ${schema}.${table} disable trigger ${table}_erased`,
    ]),
  ]
}
