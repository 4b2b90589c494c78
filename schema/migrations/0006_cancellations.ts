/**
 * Cancellations of any size, also of write-backs that are being sent. A bulk cancellation is one row that takes effect
 * at once; the write-backs that it covers are updated later. One that may have been sent keeps its status and is never
 * sent again.
 */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'
import { schemaOf } from './0005_trigger_rights.ts'

export async function cancellations(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text, integer, time } = sqlTypes[kind]
  const statements = [
    `alter table writebacks add column revoked_as ${text} check (revoked_as in ('cancelled','expired'))`,
    `create table writeback_cancellations (project_id ${key} not null, id ${key} not null, batch_id ${text},
      nameless ${integer} not null, up_to ${integer} not null, done_to ${integer} not null, cancelled_at ${time} not null, cancelled_by ${text} not null,
      finished_at ${time}, primary key (project_id, id))`,
    `create index cancellations_open on writeback_cancellations (project_id) where finished_at is null`,
    // Cancelled and expired write-backs say nothing about the service.
    'drop index writebacks_by_fate',
    `create index writebacks_by_fate on writebacks (project_id, finished_at) where finished_at is not null
      and operation in ('message','note') and status in ('succeeded','failed','uncertain')`,
    ...(kind === 'sqlite' ? inSqlite() : inPostgres(await schemaOf(db))),
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** A cancellation by plain SQL; deskmirror itself sets `revoked_as`. */
const isRevoked = `old.status = 'sending' and new.status in ('cancelled','expired') and old.revoked_as is null`

function inSqlite(): string[] {
  const why = `case when new.step is not old.step then new.step else new.status || ' while it was on its way' end`
  const nextSeq = 'select coalesce(max(seq), 0) + 1 as place from writeback_events'
  const id = "printf('%024x', place) || lower(hex(randomblob(4)))"
  return [
    // Each event gets its place when it is inserted, without a second statement, and an id that ascends with it: random
    // ids would be spread over the whole index.
    'drop trigger events_begun',
    `create trigger events_begun after insert on writeback_events when new.seq = 0 begin
      update writeback_events set seq = (${nextSeq}) where project_id = new.project_id and id = new.id; end`,
    'drop trigger writebacks_stepped',
    `create trigger writebacks_stepped after update of status, step on writebacks
      when (new.status is not old.status or new.step is not old.step) and not (${isRevoked})
        and not (old.status in ('cancelled','expired') and new.status = 'sending' and new.step is old.step) begin
      insert into writeback_events (project_id, id, writeback_id, from_status, to_status, detail, request_id, seq)
        select new.project_id, ${id}, new.id, old.status, new.status, new.step, new.request_id, place from (${nextSeq}); end`,
    `create trigger writebacks_revoked after update of status on writebacks when ${isRevoked} begin
      update writebacks set status = 'sending', revoked_as = new.status, finished_at = null, error = null, owner = old.owner,
        lease_until = old.lease_until, due_at = old.due_at where project_id = new.project_id and id = new.id;
      insert into writeback_events (project_id, id, writeback_id, from_status, to_status, detail, request_id, seq)
        select new.project_id, ${id}, new.id, 'sending', 'sending', ${why}, new.request_id, place from (${nextSeq}); end`,
  ]
}

function inPostgres(schema: string): string[] {
  const body = `begin if new.step is not distinct from old.step then
      new.step := pg_catalog.concat(new.status, ' while it was on its way'); end if;
    new.revoked_as := new.status; new.status := old.status; new.finished_at := null; new.error := null;
    new.owner := old.owner; new.lease_until := old.lease_until; new.due_at := old.due_at; return new; end`
  return [
    `create function ${schema}.writebacks_revoked() returns trigger language plpgsql security invoker
      set search_path = pg_catalog, pg_temp as '${body.replaceAll("'", "''")}'`,
    `revoke all on function ${schema}.writebacks_revoked() from public`,
    `create trigger writebacks_revoked before update of status on ${schema}.writebacks for each row
      when (${isRevoked}) execute function ${schema}.writebacks_revoked()`,
  ]
}
