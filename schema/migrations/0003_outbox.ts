/**
 * Write-backs can be sent: they get an order, lanes, claims, and an event log that the database itself writes. People
 * insert them by plain SQL, so triggers fill in what they leave out, and constraints reject invalid rows.
 */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

export async function outbox(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const statements = kind === 'sqlite' ? inSqlite() : inPostgres()
  for (const statement of [...statements, ...indexes]) await sql.raw(statement).execute(db)
}

const open = `status in ('queued','sending','uncertain')`

const indexes = [
  `create unique index writebacks_by_order on writebacks (seq)`,
  `create index writebacks_by_status on writebacks (project_id, status, created_at)`,
  `create index writebacks_in_lane on writebacks (project_id, lane, seq) where ${open}`,
  // Sending a write-back reads the history of its lane; claiming reads only the open ones.
  `create index writebacks_by_lane on writebacks (project_id, lane, seq)`,
  `create index writebacks_to_do on writebacks (project_id, seq) where status in ('queued','sending')`,
  `create unique index writebacks_by_ref on writebacks (project_id, ref) where ref is not null`,
  // A message of the service is the result of one write-back, never of two.
  `create unique index writebacks_by_message on writebacks (project_id, lane, message_id) where message_id is not null`,
  `create index writebacks_owned on writebacks (project_id, owner) where owner is not null`,
  `create index writebacks_by_fate on writebacks (project_id, finished_at)
    where finished_at is not null and operation in ('message','note')`,
  `create index writebacks_by_batch on writebacks (project_id, batch_id, seq) where batch_id is not null`,
]

/** The database's error message names the violated constraint, so the names read as sentences. */
function constraints(kind: DatabaseKind): string {
  const sqlite = kind === 'sqlite'
  const type = (field: string) => (sqlite ? `json_type(payload, '$.${field}')` : `jsonb_typeof(payload->'${field}')`)
  const value = (field: string) => (sqlite ? `json_extract(payload, '$.${field}')` : `payload->>'${field}'`)
  const [string, flag] = sqlite ? ["'text'", "('true','false')"] : ["'string'", "('boolean')"]
  const blank = sqlite ? 'char(9,10,13,32)' : "E' \\t\\n\\r'"
  const filled = (field: string, most: number) =>
    `${type(field)} = ${string} and length(${value(field)}) <= ${most} and ${sqlite ? 'trim' : 'btrim'}(${value(field)}, ${blank}) <> ''`
  const orNull = (field: string, most: number) =>
    `(${type(field)} is null or ${type(field)} = 'null' or (${filled(field, most)}))`
  const only = (...fields: string[]) =>
    sqlite
      ? `json_remove(payload, ${fields.map((field) => `'$.${field}'`).join(', ')}) = '{}'`
      : `payload - array[${fields.map((field) => `'${field}'`).join(', ')}] = '{}'::jsonb`
  const hex = (digits: number) => '[0-9a-fA-F]'.repeat(digits)
  const uuid = (column: string) =>
    sqlite
      ? `${column} glob '${[8, 4, 4, 4, 12].map(hex).join('-')}'`
      : `${column} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`
  const rules: Readonly<Record<string, string>> = {
    message_and_handled_need_conversation_id: `operation not in ('message','handled') or ${uuid('conversation_id')}`,
    visitor_and_note_need_visitor_id: `operation not in ('visitor','note') or ${uuid('visitor_id')}`,
    message_needs_content_and_sender_name: `operation <> 'message' or (${filled('content', 20_000)}
      and ${filled('sender_name', 300)} and ${only('content', 'sender_name')})`,
    handled_needs_true_or_false: `operation <> 'handled' or (${type('handled')} in ${flag} and ${only('handled')})`,
    note_needs_content: `operation <> 'note' or (${filled('content', 20_000)} and ${only('content')})`,
    visitor_needs_name_or_email: `operation <> 'visitor' or ((${type('name')} is not null or ${type('email')} is not null)
      and ${orNull('name', 300)} and ${orNull('email', 320)} and ${only('name', 'email')})`,
  }
  // `is true`: a check that evaluates to null would accept the row.
  return Object.entries(rules)
    .map(([name, rule]) => `constraint ${name} check ((${rule}) is true)`)
    .join(',\n')
}

/** The previous columns, in the order that `insert … select` needs. */
const before = `project_id, id, operation, conversation_id, visitor_id, payload, status, attempts, batch_id, created_at,
  created_by, sent_at, finished_at, request_id, error, evidence`
const eventsBefore = 'project_id, id, writeback_id, at, from_status, to_status, detail'

const statuses = "'draft','queued','sending','succeeded','failed','conflict','uncertain','cancelled','expired'"
const laneOf = (row: string) => `case when ${row}operation in ('message','handled')
  then 'conversation/' || lower(${row}conversation_id) else 'visitor/' || lower(${row}visitor_id) end`

const changed = (differs: string) =>
  ['operation', 'conversation_id', 'visitor_id', 'payload']
    .map((column) => `new.${column} ${differs} old.${column}`)
    .join(' or ')

/** SQLite cannot change a table's defaults or checks, so the table is created again. */
function inSqlite(): string[] {
  const now = "(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))"
  const id = 'id text not null default (lower(hex(randomblob(16))))'
  return [
    'drop index writebacks_by_status',
    'drop index events_by_writeback',
    'alter table writebacks rename to writebacks_before',
    'alter table writeback_events rename to events_before',
    `create table writebacks (project_id text not null default '', ${id},
      operation text not null check (operation in ('message','handled','visitor','note')),
      conversation_id text, visitor_id text,
      payload text not null constraint payload_is_a_json_object check (case when json_valid(payload) then json_type(payload) = 'object' else 0 end),
      status text not null default 'queued' check (status in (${statuses})),
      attempts integer not null default 0 check (attempts >= 0),
      batch_id text, ref text, expect text, expires_at text, created_at text not null default ${now}, created_by text,
      sent_at text, finished_at text, request_id text, error text, evidence text, step text, message_id text,
      seen text, seq integer not null default 0, lane text not null default '', epoch integer not null default 0,
      owner text, lease_until integer, due_at integer, primary key (project_id, id),
      ${constraints('sqlite')})`,
    `create table writeback_events (project_id text not null, ${id}, writeback_id text not null,
      at text not null default ${now}, from_status text, to_status text not null check (to_status in (${statuses})),
      detail text, request_id text, seq integer not null default 0, primary key (project_id, id))`,
    `insert into writebacks (${before}, seq, lane)
      select ${before}, row_number() over (order by created_at, rowid), ${laneOf('')} from writebacks_before`,
    `insert into writeback_events (${eventsBefore}, seq)
      select ${eventsBefore}, row_number() over (order by at, rowid) from events_before`,
    'drop table writebacks_before',
    'drop table events_before',
    'create index events_by_writeback on writeback_events (project_id, writeback_id, seq)',
    'create unique index events_by_order on writeback_events (seq)',
    `create trigger writebacks_begin before insert on writebacks when new.status not in ('draft','queued')
      begin select raise(abort, 'a write-back begins as queued or as draft'); end`,
    `create trigger writebacks_begun after insert on writebacks begin
      update writebacks set lane = ${laneOf('new.')}, ref = coalesce(new.ref, new.id), seen = ${seenInSqlite},
        seq = (select coalesce(max(seq), 0) + 1 from writebacks)
        where project_id = new.project_id and id = new.id;
      insert into writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, null, new.status, new.step); end`,
    `create trigger writebacks_arrived before update of status on writebacks
      when old.status = 'succeeded' and new.status <> 'succeeded'
      begin select raise(abort, 'a write-back that has arrived stays so'); end`,
    // A new epoch: a process that has read the row before must not send the changed one.
    `create trigger writebacks_changed after update of operation, conversation_id, visitor_id, payload on writebacks
      when ${changed('is not')} begin
      update writebacks set lane = ${laneOf('new.')}, epoch = epoch + 1 where project_id = new.project_id and id = new.id; end`,
    `create trigger writebacks_stepped after update of status, step on writebacks
      when new.status is not old.status or new.step is not old.step begin
      insert into writeback_events (project_id, writeback_id, from_status, to_status, detail, request_id)
        values (new.project_id, new.id, old.status, new.status, new.step, new.request_id); end`,
    `create trigger events_begun after insert on writeback_events begin
      update writeback_events set seq = (select coalesce(max(seq), 0) + 1 from writeback_events)
        where project_id = new.project_id and id = new.id; end`,
    `create trigger events_kept before update on writeback_events when old.seq <> 0 and old.project_id <> ''
      begin select raise(abort, 'the log of write-backs is only ever added to'); end`,
    `create trigger events_never_deleted before delete on writeback_events
      begin select raise(abort, 'the log of write-backs is only ever added to'); end`,
  ]
}

/** What the mirror shows of the target at the time of queueing: guards compare the service with it. */
const seenInSqlite = `case when new.operation in ('message','handled')
  then (select json_object('last_message_at', last_message_at) from conversations
    where id = new.conversation_id and (project_id = new.project_id or new.project_id = '') and deleted_at is null)
  else (select json_object('name', name, 'email', email) from visitors
    where id = new.visitor_id and (project_id = new.project_id or new.project_id = '') and deleted_at is null) end`

const seenInPostgres = `case when new.operation in ('message','handled')
  then (select jsonb_build_object('last_message_at', to_char(last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    from conversations where id = new.conversation_id and (project_id = new.project_id or new.project_id = '')
    and deleted_at is null limit 1)
  else (select jsonb_build_object('name', name, 'email', email) from visitors
    where id = new.visitor_id and (project_id = new.project_id or new.project_id = '') and deleted_at is null limit 1) end`

function inPostgres(): string[] {
  const { key, text, integer, time, json } = sqlTypes.postgres
  // Inserting a write-back must require no other permission, whatever the inserter's search path is.
  const trigger = (name: string, body: string) =>
    `create function ${name}() returns trigger language plpgsql security definer set search_path from current as $$ begin ${body} end $$`
  return [
    'drop index writebacks_by_status',
    'drop index events_by_writeback',
    'create sequence writebacks_seq',
    'create sequence writeback_events_seq',
    `alter table writebacks alter column project_id set default '', add column ref ${text}, add column expect ${text},
      add column expires_at ${time}, add column step ${text}, add column message_id ${text}, add column seen ${json},
      add column seq ${integer} not null default 0, add column lane ${key} not null default '',
      add column epoch ${integer} not null default 0, add column owner ${text}, add column lease_until ${integer},
      add column due_at ${integer}, ${constraints('postgres')
        .split(',\nconstraint')
        .map((rule) => `add constraint ${rule.replace(/^constraint /, '')}`)
        .join(', ')}`,
    'alter sequence writebacks_seq owned by writebacks.seq',
    `alter table writeback_events add column request_id ${text},
      add column seq ${integer} not null default nextval('writeback_events_seq')`,
    'alter sequence writeback_events_seq owned by writeback_events.seq',
    `update writebacks set lane = ${laneOf('')}, seq = nextval('writebacks_seq')`,
    'create index events_by_writeback on writeback_events (project_id, writeback_id, seq)',
    'create unique index events_by_order on writeback_events (seq)',
    trigger(
      'writebacks_begin',
      `if new.status not in ('draft','queued') then
        raise exception 'a write-back begins as queued or as draft' using errcode = 'check_violation'; end if;
      new.seq := nextval('writebacks_seq'); new.ref := coalesce(new.ref, new.id); new.lane := ${laneOf('new.')}; new.seen := ${seenInPostgres}; return new;`,
    ),
    trigger(
      'writebacks_arrived',
      `raise exception 'a write-back that has arrived stays so' using errcode = 'check_violation';`,
    ),
    trigger('writebacks_changed', `new.lane := ${laneOf('new.')}; new.epoch := old.epoch + 1; return new;`),
    trigger(
      'writebacks_begun',
      `insert into writeback_events (project_id, writeback_id, from_status, to_status, detail)
        values (new.project_id, new.id, null, new.status, new.step); return null;`,
    ),
    trigger(
      'writebacks_stepped',
      `insert into writeback_events (project_id, writeback_id, from_status, to_status, detail, request_id)
        values (new.project_id, new.id, old.status, new.status, new.step, new.request_id); return null;`,
    ),
    trigger(
      'writeback_events_kept',
      `raise exception 'the log of write-backs is only ever added to' using errcode = 'check_violation';`,
    ),
    `create trigger writebacks_begin before insert on writebacks for each row execute function writebacks_begin()`,
    `create trigger writebacks_begun after insert on writebacks for each row execute function writebacks_begun()`,
    `create trigger writebacks_arrived before update of status on writebacks for each row
      when (old.status = 'succeeded' and new.status <> 'succeeded') execute function writebacks_arrived()`,
    `create trigger writebacks_changed before update of operation, conversation_id, visitor_id, payload on writebacks
      for each row when (${changed('is distinct from')}) execute function writebacks_changed()`,
    `create trigger writebacks_stepped after update of status, step on writebacks for each row
      when (new.status is distinct from old.status or new.step is distinct from old.step)
      execute function writebacks_stepped()`,
    `create trigger events_kept before update on writeback_events for each row when (old.project_id <> '')
      execute function writeback_events_kept()`,
    `create trigger events_never_deleted before delete on writeback_events for each row
      execute function writeback_events_kept()`,
  ]
}
