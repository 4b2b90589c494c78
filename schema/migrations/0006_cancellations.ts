/**
 * Cancelling at any size, and of what is on its way: a bulk cancellation is one row that holds at once, and the write-backs it
 * covers follow; one that may have left keeps its status, and a note that it is never sent again.
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
    // Cancelled and expired ones say nothing about the service.
    'drop index writebacks_by_fate',
    `create index writebacks_by_fate on writebacks (project_id, finished_at) where finished_at is not null
      and operation in ('message','note') and status in ('succeeded','failed','uncertain')`,
    ...(kind === 'sqlite' ? inSqlite() : inPostgres(await schemaOf(db))),
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** By plain SQL; deskmirror itself says it in `revoked_as`. */
const isRevoked = `old.status = 'sending' and new.status in ('cancelled','expired') and old.revoked_as is null`

function inSqlite(): string[] {
  const why = `case when new.step is not old.step then new.step else new.status || ' while it was on its way' end`
  const nextSeq = 'select coalesce(max(seq), 0) + 1 as place from writeback_events'
  const id = "printf('%024x', place) || lower(hex(randomblob(4)))"
  return [
    // Each event gets its place as it is inserted, which a second statement did before, and an id that ascends with it: ids by
    // chance lie all over the index.
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
