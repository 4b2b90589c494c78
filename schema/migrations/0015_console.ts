/** For the console: who decided what, one-time links, requests by the minute, and the search index. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function webConsole(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text, integer, time } = sqlTypes[kind]
  const statements = [
    `create table console_events (project_id ${key} not null, id ${key} not null, at ${time} not null,
      person ${text} not null, role ${text} not null, action ${text} not null, subject ${text}, count ${integer},
      detail ${text}, primary key (project_id, id))`,
    'create unique index console_events_by_order on console_events (id)',
    ...(kind === 'sqlite' ? appendOnlyInSqlite : appendOnlyInPostgres),
    `create table console_links (code_hash ${key} not null, expires_at ${integer} not null, primary key (code_hash))`,
    `create table budget_minutes (project_id ${key} not null, minute ${time} not null, priority ${key} not null,
      requests ${integer} not null, throttled ${integer} not null, primary key (project_id, minute, priority))`,
    `create table budget_pauses (project_id ${key} not null, kind ${key} not null, from_ms ${integer} not null,
      to_ms ${integer} not null, primary key (project_id, kind, from_ms))`,
    `create table search_conversations (project_id ${key} not null, conversation_id ${key} not null,
      id ${integer} not null, primary key (project_id, conversation_id))`,
    'create unique index search_by_id on search_conversations (id)',
    ...(kind === 'sqlite' ? searchInSqlite : searchInPostgres),
    `create index conversations_waiting on conversations (project_id, waiting_since)
      where waiting_since is not null and handled_at is null and deleted_at is null`,
    'create index visitors_by_email on visitors (project_id, email)',
    'create index children_failing on sync_children (project_id, stream) where error is not null',
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const refusal = 'the audit log is only ever added to'

const appendOnlyInSqlite = [
  `create trigger console_events_kept before update on console_events begin select raise(abort, '${refusal}'); end`,
  `create trigger console_events_never_deleted before delete on console_events
    begin select raise(abort, '${refusal}'); end`,
]

const appendOnlyInPostgres = [
  `create function console_events_kept() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
    as $$begin raise exception '${refusal}' using errcode = 'check_violation'; end$$`,
  'revoke all on function console_events_kept() from public',
  `create trigger console_events_kept before update or delete on console_events for each row
    execute function console_events_kept()`,
  `create trigger console_events_never_emptied before truncate on console_events for each statement
    execute function console_events_kept()`,
]

/** Without the texts themselves and without positions of words: a third of the size. */
const searchInSqlite = [
  `create virtual table search_words using fts5(words, content='', contentless_delete=1, detail=none,
    tokenize="unicode61 remove_diacritics 2")`,
]

const searchInPostgres = [
  'create table search_words (id bigint not null primary key, words tsvector not null)',
  'create index search_words_found on search_words using gin (words)',
]
