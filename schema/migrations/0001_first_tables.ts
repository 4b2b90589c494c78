/** The first tables: the mirror, the queue of write-backs, and the state of syncs. */
import { type Kysely, sql } from 'kysely'
import { type ColumnType, type DatabaseKind, sqlTypes } from '../column-types.ts'

const mirrored = 'project_id key!, raw json!, synced_at time!, run_id text, asked_at integer!'

/** Columns as `name type`, `!` = not null; the key's columns are the first ones named under `key`. */
const tables: Readonly<Record<string, { readonly key: string; readonly columns: string }>> = {
  conversations: {
    key: 'project_id id',
    columns: `${mirrored}, deleted_at time, id key!, visitor_id text, status text, created_at time, last_message_at time,
      last_message_sender_type text, handled_at time, waiting_since time, assigned_agent_id text, origin text,
      messages_complete boolean`,
  },
  messages: {
    key: 'project_id conversation_id id',
    columns: `${mirrored}, deleted_at time, conversation_id key!, id integer!, sender_type text, kind text, content text,
      sender_display_name text, created_at time`,
  },
  visitors: { key: 'project_id id', columns: `${mirrored}, deleted_at time, id key!, name text, email text` },
  visitor_activity: {
    key: 'project_id visitor_id entry_hash ordinal',
    columns: `${mirrored}, deleted_at time, visitor_id key!, entry_hash key!, ordinal integer!, occurred_at time`,
  },
  calls: { key: 'project_id id', columns: `${mirrored}, deleted_at time, id key!, occurred_at time` },
  call_recordings: {
    key: 'project_id call_id',
    columns: `${mirrored}, deleted_at time, call_id key!, has_recording boolean, checked_at time`,
  },
  analytics_rollups: {
    key: 'project_id window_from window_to',
    columns: `${mirrored}, window_from time!, window_to time!, read_at time`,
  },
  analytics_metrics: {
    key: 'project_id window_from window_to metric',
    columns: 'project_id key!, window_from time!, window_to time!, metric key!, value number!',
  },
  availability_snapshots: {
    key: 'project_id taken_at',
    columns: `${mirrored}, taken_at time!, available boolean, agents_online integer`,
  },
  conversation_changes: {
    key: 'project_id id',
    columns: `project_id key!, id key!, conversation_id key!, field text!, old_value text, new_value text, seen_at time!`,
  },
  sync_runs: {
    key: 'project_id id',
    columns: `project_id key!, id key!, mode text!, started_at time!, finished_at time, outcome text, requests integer!,
      rows_read integer!, rows_changed integer!, streams json, strings_escaped integer!, beat_at integer!,
      request_log json`,
  },
  sync_cursors: { key: 'project_id stream', columns: 'project_id key!, stream key!, position text!' },
  sync_gaps: {
    key: 'project_id id',
    columns: `project_id key!, id key!, stream text!, from_ts time, to_ts time, reason text!, found_at time!,
      resolved_at time, subject key!`,
  },
  sync_children: {
    key: 'project_id stream parent_id',
    columns: `project_id key!, stream key!, parent_id key!, wanted integer!, fetched integer!, due_at integer,
      attempts integer!, position text, checked_at integer, error text`,
  },
  sync_census: { key: 'project_id census id', columns: 'project_id key!, census key!, id key!' },
  sync_locks: {
    key: 'project_id',
    columns: 'project_id key!, token text!, host text!, pid integer!, process text!, since time!, beat_at integer!',
  },
  service_behaviours: {
    key: 'project_id name',
    columns: 'project_id key!, name key!, value text!, evidence text!, learned_at time!',
  },
  discovered_fields: {
    key: 'project_id stream path',
    columns: `project_id key!, stream key!, path key!, column_name text, type text!, first_seen_at time!,
      fill_after text`,
  },
}

/** Partial indexes make rare rows (deleted rows, pending children, open gaps) cheap to find and cheap to maintain. */
const indexes: Readonly<Record<string, string>> = {
  conversations_by_start: 'on conversations (project_id, created_at)',
  conversations_by_visitor: 'on conversations (project_id, visitor_id)',
  conversations_open: 'on conversations (project_id, last_message_at) where handled_at is null',
  conversations_deleted: 'on conversations (project_id) where deleted_at is not null',
  messages_by_time: 'on messages (project_id, created_at)',
  messages_deleted: 'on messages (project_id) where deleted_at is not null',
  visitors_deleted: 'on visitors (project_id) where deleted_at is not null',
  activity_by_time: 'on visitor_activity (project_id, occurred_at)',
  activity_deleted: 'on visitor_activity (project_id) where deleted_at is not null',
  calls_by_time: 'on calls (project_id, occurred_at)',
  calls_deleted: 'on calls (project_id) where deleted_at is not null',
  recordings_deleted: 'on call_recordings (project_id) where deleted_at is not null',
  changes_by_conversation: 'on conversation_changes (project_id, conversation_id)',
  children_to_refresh: 'on sync_children (project_id, stream, due_at) where due_at is not null and fetched > 0',
  children_to_read: 'on sync_children (project_id, stream, due_at) where due_at is not null and fetched = 0',
  runs_by_beat: 'on sync_runs (project_id, beat_at)',
  writebacks_by_status: 'on writebacks (project_id, status, created_at)',
  events_by_writeback: 'on writeback_events (project_id, writeback_id)',
}

export async function firstTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  for (const [name, table] of Object.entries(tables)) {
    const columns = table.columns.split(',').map((column) => declare(column, kind))
    await run(`create table ${name} (${columns.join(', ')}, primary key (${table.key.split(' ').join(', ')}))`)
  }
  for (const statement of writebackTables(kind)) await run(statement)
  for (const [name, on] of Object.entries(indexes)) await run(`create index ${name} ${on}`)
  await run('create unique index gaps_open on sync_gaps (project_id, stream, subject) where resolved_at is null')
}

function declare(column: string, kind: DatabaseKind): string {
  const [name = '', type = ''] = column.trim().split(/\s+/)
  return `${name} ${sqlTypes[kind][type.replace('!', '') as ColumnType]}${type.endsWith('!') ? ' not null' : ''}`
}

/** People insert write-backs by plain SQL: missing columns have defaults, and checks reject invalid rows. */
function writebackTables(kind: DatabaseKind): string[] {
  const { key, text, integer, time, json } = sqlTypes[kind]
  const sqlite = kind === 'sqlite'
  const id = `id ${key} not null default (${sqlite ? 'lower(hex(randomblob(16)))' : 'gen_random_uuid()::text'})`
  const now = sqlite ? "(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))" : 'now()'
  const object = sqlite
    ? "case when json_valid(payload) then json_type(payload) = 'object' else 0 end"
    : "jsonb_typeof(payload) = 'object'"
  const statuses = "'draft','queued','sending','succeeded','failed','conflict','uncertain','cancelled','expired'"
  return [
    `create table writebacks (project_id ${key} not null, ${id},
      operation ${text} not null check (operation in ('message','handled','visitor','note')),
      conversation_id ${text}, visitor_id ${text},
      payload ${json} not null check (${object}),
      status ${text} not null default 'queued' check (status in (${statuses})),
      attempts ${integer} not null default 0 check (attempts >= 0),
      batch_id ${text}, created_at ${time} not null default ${now}, created_by ${text}, sent_at ${time},
      finished_at ${time}, request_id ${text}, error ${text}, evidence ${json},
      primary key (project_id, id),
      check (case when operation in ('message','handled') then conversation_id is not null
        else visitor_id is not null end))`,
    `create table writeback_events (project_id ${key} not null, ${id}, writeback_id ${key} not null,
      at ${time} not null default ${now}, from_status ${text}, to_status ${text} not null check (to_status in (${statuses})),
      detail ${text}, primary key (project_id, id))`,
  ]
}
