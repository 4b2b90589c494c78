/**
 * Batches become rows of their own, so that people can name, judge, approve and stop them. Triggers give every row with
 * a `batch_id` its batch, whoever inserts it, and the event log gets the person who decided.
 */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'
import { schemaOf } from './0005_trigger_rights.ts'

export async function batches(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const triggers = kind === 'sqlite' ? inSqlite() : inPostgres(await schemaOf(db))
  for (const statement of [...tables(kind), ...triggers]) await sql.raw(statement).execute(db)
}

/** Columns that only deskmirror may set. */
const reserved = ['approved_by', 'undo_until', 'decided_by', 'decided_at', 'stopped_by']

function tables(kind: DatabaseKind): string[] {
  const { key, text, integer, time } = sqlTypes[kind]
  const columns = { approved_by: text, undo_until: integer, decided_by: text, decided_at: integer, stopped_by: text }
  return [
    ...Object.entries(columns).map(([name, type]) => `alter table writebacks add column ${name} ${type}`),
    `alter table writeback_events add column person ${text}`,
    `create table writeback_batches (project_id ${key} not null, id ${key} not null, title ${text}, source ${text},
      note ${text}, rows ${integer} not null default 0, created_at ${time} not null, created_by ${text},
      approved_at ${time}, approved_by ${text}, stopped_at ${time}, stopped_by ${text}, reverts ${text},
      finished_at ${time}, done_to ${integer}, done_by ${text}, primary key (project_id, id))`,
    'create index batches_by_age on writeback_batches (project_id, created_at, id)',
    'create index batches_stopped on writeback_batches (project_id) where stopped_at is not null',
    'create index batches_following on writeback_batches (project_id) where done_to is not null',
    'create index batches_reverting on writeback_batches (project_id, reverts) where reverts is not null',
    `create table writeback_previews (project_id ${key} not null, writeback_id ${key} not null, epoch ${integer} not null,
      outcome ${text} not null, why ${text}, would ${text}, checked_at ${time} not null,
      primary key (project_id, writeback_id))`,
    // Counts a batch by status from the index alone.
    'create index writebacks_batch_status on writebacks (project_id, batch_id, status) where batch_id is not null',
    `insert into writeback_batches (project_id, id, rows, created_at, created_by, finished_at)
      select project_id, batch_id, count(*), min(created_at), min(created_by),
        case when count(case when status in ('draft','queued','sending','uncertain') then 1 end) = 0
          then max(finished_at) end
      from writebacks where batch_id is not null group by project_id, batch_id`,
  ]
}

/** A stopped batch that gets another row has a row that does not follow the stop yet. */
const addRows = (count: string, own: string) => `rows = ${own}rows + ${count}, finished_at = null,
  done_to = case when ${own}stopped_at is not null then 0 else ${own}done_to end`

/** Decisions of people set `decided_at`; other changes, and those by plain SQL, leave it as it is. */
const person = (differs: string) => `case when new.decided_at ${differs} old.decided_at then new.decided_by end`

/** As before, with the columns that batches add. */
function beginInSqlite(event: string): string {
  const shown = (object: string, table: string, target: string) => `(select ${object} from ${table}
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from ${table}) end
      and id = new.${target} and deleted_at is null)`
  const counters = ['attempts', 'epoch'].map((column) => `${column} = 0`)
  const results = ['owner', 'lease_until', 'sent_at', 'finished_at', 'request_id', 'error', 'evidence', 'message_id']
  const resets = [...counters, ...[...results, ...reserved].map((column) => `${column} = null`)]
  return `create trigger writebacks_begun after insert on writebacks begin
    update writebacks set lane = case when new.operation in ('message','handled')
        then 'conversation/' || lower(new.conversation_id) else 'visitor/' || lower(new.visitor_id) end,
      ref = coalesce(new.ref, new.id), seen = case when new.operation in ('message','handled')
        then ${shown("json_object('last_message_at', last_message_at)", 'conversations', 'conversation_id')}
        else ${shown("json_object('name', name, 'email', email)", 'visitors', 'visitor_id')} end,
      seq = (select coalesce(max(seq), 0) + 1 from writebacks), ${resets.join(', ')}
      where project_id = new.project_id and id = new.id;
    ${event}; end`
}

function inSqlite(): string[] {
  const nextSeq = 'select coalesce(max(seq), 0) + 1 as place from writeback_events'
  const id = "printf('%024x', place) || lower(hex(randomblob(4)))"
  const isRevoked = `old.status = 'sending' and new.status in ('cancelled','expired') and old.revoked_as is null`
  const joinBatch = `insert into writeback_batches (project_id, id, rows, created_at, created_by)
    values (new.project_id, new.batch_id, 1, new.created_at, new.created_by)
    on conflict (project_id, id) do update set ${addRows('1', '')}`
  const leaveBatch = `update writeback_batches set rows = rows - 1 where project_id = old.project_id and id = old.batch_id`
  return [
    'drop trigger writebacks_begun',
    // As for other events: with its place and an ascending id at once.
    beginInSqlite(`insert into writeback_events (project_id, id, writeback_id, from_status, to_status, detail, seq)
      select new.project_id, ${id}, new.id, null, new.status, new.step, place from (${nextSeq})`),
    `create trigger writebacks_batched after insert on writebacks when new.batch_id is not null begin ${joinBatch}; end`,
    `create trigger writebacks_rebatched_from after update of batch_id on writebacks
      when old.batch_id is not null and new.batch_id is not old.batch_id begin ${leaveBatch}; end`,
    `create trigger writebacks_rebatched_to after update of batch_id on writebacks
      when new.batch_id is not null and new.batch_id is not old.batch_id begin ${joinBatch}; end`,
    `create trigger writebacks_unbatched after delete on writebacks when old.batch_id is not null begin ${leaveBatch}; end`,
    'drop trigger writebacks_stepped',
    `create trigger writebacks_stepped after update of status, step on writebacks
      when (new.status is not old.status or new.step is not old.step) and not (${isRevoked})
        and not (old.status in ('cancelled','expired') and new.status = 'sending' and new.step is old.step) begin
      insert into writeback_events (project_id, id, writeback_id, from_status, to_status, detail, request_id, seq, person)
        select new.project_id, ${id}, new.id, old.status, new.status, new.step, new.request_id, place, ${person('is not')}
        from (${nextSeq}); end`,
  ]
}

function inPostgres(schema: string): string[] {
  const batch = `${schema}.writeback_batches`
  const joinBatch = (
    rows: string,
  ) => `insert into ${batch} as known (project_id, id, rows, created_at, created_by) ${rows}
    on conflict (project_id, id) do update set ${addRows('excluded.rows', 'known.')};`
  const leaveBatch = `update ${batch} set rows = rows - 1 where project_id = old.project_id and id = old.batch_id;`
  const one = 'values (new.project_id, new.batch_id, 1, new.created_at, new.created_by)'
  // In the order of the key, so that two statements that add to the same batches cannot wait for each other.
  const all = `select project_id, batch_id, pg_catalog.count(*), pg_catalog.min(created_at), pg_catalog.min(created_by)
    from added where batch_id is not null group by 1, 2 order by 1, 2`
  const functions: Readonly<Record<string, string>> = {
    writebacks_reserved: `${reserved.map((column) => `new.${column} := null;`).join(' ')} return new;`,
    writebacks_batched: `${joinBatch(all)} return null;`,
    writebacks_rebatched: `if old.batch_id is not null then ${leaveBatch} end if;
      if new.batch_id is not null then ${joinBatch(one)} end if; return null;`,
    writebacks_unbatched: `${leaveBatch} return null;`,
    writebacks_begun: `insert into ${schema}.writeback_events (project_id, writeback_id, from_status, to_status, detail)
      select project_id, id, null, status, step from added order by seq; return null;`,
    writebacks_stepped: `insert into ${schema}.writeback_events
        (project_id, writeback_id, from_status, to_status, detail, request_id, person)
      values (new.project_id, new.id, old.status, new.status, new.step, new.request_id, ${person('is distinct from')});
      return null;`,
  }
  const table = `on ${schema}.writebacks`
  const run = (name: string) => `execute function ${schema}.${name}()`
  return [
    ...Object.entries(functions).flatMap(([name, body]) => [
      // Inserting a write-back requires no right on the batches.
      `create or replace function ${schema}.${name}() returns trigger language plpgsql security definer
        set search_path = pg_catalog, pg_temp as '${`begin ${body} end`.replaceAll("'", "''")}'`,
      `revoke all on function ${schema}.${name}() from public`,
    ]),
    `create trigger writebacks_reserved before insert ${table} for each row ${run('writebacks_reserved')}`,
    `drop trigger writebacks_begun ${table}`,
    ...['writebacks_begun', 'writebacks_batched'].map(
      (name) => `create trigger ${name} after insert ${table} referencing new table as added for each statement
        ${run(name)}`,
    ),
    `create trigger writebacks_rebatched after update of batch_id ${table} for each row
      when (new.batch_id is distinct from old.batch_id) ${run('writebacks_rebatched')}`,
    `create trigger writebacks_unbatched after delete ${table} for each row when (old.batch_id is not null)
      ${run('writebacks_unbatched')}`,
  ]
}
