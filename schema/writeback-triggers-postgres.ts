/** They name every object with its schema, so that nobody who inserts can substitute tables. */
import { snapshotSql, type TargetKind } from './operation-specs.ts'
import * as rules from './trigger-conditions.ts'

/** `does`: the body of its function in PL/pgSQL. `calls`: that function, if it has another name. */
export type PostgresTrigger = {
  readonly event: string
  readonly on: string
  readonly each: string
  readonly does: string
  readonly calls?: string
}

export function eachRow(event: string, on: string, does: string, condition = ''): PostgresTrigger {
  const each = condition === '' ? 'for each row' : `for each row when (${condition})`
  return { event, on, each, does }
}

export const eachStatement = (event: string, on: string, does: string): PostgresTrigger => ({
  event,
  on,
  each: 'for each statement',
  does,
})

export const refuse = (why: string): string =>
  `raise exception '${why}' using errcode = 'check_violation';`

/** By name. */
export function writebackTriggersInPostgres(
  schema: string,
): Readonly<Record<string, PostgresTrigger>> {
  const writebacks = `${schema}.writebacks`
  const events = `${schema}.writeback_events`
  const batches = `${schema}.writeback_batches`
  const joinBatch = (
    rows: string,
  ) => `insert into ${batches} as known (project_id, id, rows, created_at, created_by) ${rows}
    on conflict (project_id, id) do update set ${rules.addRows('excluded.rows', 'known.')};`
  const leaveBatch = `update ${batches} set rows = rows - 1 where project_id = old.project_id
    and id = old.batch_id;`
  const one = 'values (new.project_id, new.batch_id, 1, new.created_at, new.created_by)'
  // In the order of the key, so that two statements cannot wait for each other.
  const all = `select project_id, batch_id, pg_catalog.count(*), pg_catalog.min(created_at),
    pg_catalog.min(created_by)
    from added where batch_id is not null group by 1, 2 order by 1, 2`
  const of = (event: string, does: string, condition = '') =>
    eachRow(event, writebacks, does, condition)
  const added = (does: string) => ({
    ...eachStatement('after insert', writebacks, does),
    each: 'referencing new table as added for each statement',
  })
  return {
    writebacks_begin: of('before insert', begin(schema)),
    writebacks_reserved: of(
      'before insert',
      `${rules.decisions.map((column) => `new.${column} := null;`).join(' ')} return new;`,
    ),
    writebacks_begun:
      added(`insert into ${events} (project_id, writeback_id, from_status, to_status,
        detail)
        select project_id, id, null, status, reason from added order by seq; return null;`),
    writebacks_batched: added(`${joinBatch(all)} return null;`),
    writebacks_named: of(
      'before update of project_id',
      `new.target_snapshot := ${snapshotIn(schema)}; return new;`,
      "old.project_id = '' and new.target_snapshot is null",
    ),
    writebacks_arrived: of(
      'before update of status',
      refuse(rules.refusals.arrived),
      "old.status = 'succeeded' and new.status <> 'succeeded'",
    ),
    // A new token: a process that has read the row before must not send the changed one.
    writebacks_changed: of(
      `before update of ${rules.request.join(', ')}`,
      `new.lane := ${rules.laneOf('pg_catalog.lower')}; new.fencing_token := ` +
        'old.fencing_token + 1; return new;',
      rules.differ('postgres', rules.request),
    ),
    writebacks_logged: of(
      'after update of status, reason',
      `insert into ${events}
          (project_id, writeback_id, from_status, to_status, detail, request_id, person)
        values (new.project_id, new.id, old.status, new.status, new.reason, new.request_id,
        ${rules.person('postgres')});
        return null;`,
      rules.differ('postgres', ['status', 'reason']),
    ),
    writebacks_revoked: of(
      'before update of status',
      `if new.reason is not distinct from old.reason then
          new.reason := pg_catalog.concat(new.status, ' while it was on its way'); end if;
        new.revoked_as := new.status; new.status := old.status; new.finished_at := null; new.error
        := null;
        new.owner := old.owner; new.lease_until := old.lease_until; new.due_at := old.due_at; return
        new;`,
      rules.isRevoked,
    ),
    writebacks_rebatched: of(
      'after update of batch_id',
      `if old.batch_id is not null then ${leaveBatch} end if;
        if new.batch_id is not null then ${joinBatch(one)} end if; return null;`,
      rules.differ('postgres', ['batch_id']),
    ),
    writebacks_unbatched: of(
      'after delete',
      `${leaveBatch} return null;`,
      'old.batch_id is not null',
    ),
    writebacks_stay_erased: of(
      'before update of status',
      refuse(rules.refusals.erased),
      `old.erased_at is not null and ${rules.differ('postgres', ['status'])}`,
    ),
    writebacks_left: of(
      `before update of ${rules.request.join(', ')}`,
      refuse(rules.refusals.left),
      rules.hasLeft('postgres'),
    ),
    writebacks_open_kept: of(
      'before update of erased_at',
      refuse(rules.refusals.open),
      rules.losesWordsTooEarly,
    ),
    // The trigger that writes the log sees only what the statement of the user names.
    writebacks_disapproved: of(
      `before update of ${[...rules.request, ...rules.conditions].join(', ')}`,
      `new.approved_by := null; new.undo_until := null; new.fencing_token :=
        new.fencing_token + 1;
        if new.status = 'queued' then
          new.status := 'draft'; new.due_at := null; new.reason := '${rules.disapproval}';
          insert into ${events} (project_id, writeback_id, from_status, to_status, detail)
            values (new.project_id, new.id, old.status, new.status, new.reason);
        end if; return new;`,
      rules.isDisapproved('postgres'),
    ),
    events_kept: {
      ...eachRow('before update', events, refuse(rules.refusals.log), "old.project_id <> ''"),
      calls: 'writeback_events_kept',
    },
    events_never_deleted: {
      ...eachRow(
        'before delete',
        events,
        `if exists (select 1 from ${writebacks}
        where project_id = old.project_id
        and id = old.writeback_id and erased_at is not null) then return old;
        end if; ${refuse(rules.refusals.log)}`,
      ),
      calls: 'writeback_events_expired',
    },
    events_never_emptied: {
      ...eachStatement('before truncate', events, refuse(rules.refusals.log)),
      calls: 'writeback_events_kept',
    },
  }
}

/** A user who may only insert is recorded as the inserter, whatever the row says. */
function begin(schema: string): string {
  const resets = [
    ...rules.counters.map((column) => `new.${column} := 0;`),
    ...rules.outcome.map((column) => `new.${column} := null;`),
  ]
  // Within an SQL string.
  const sequence = `'${`${schema}.writebacks_seq`.replaceAll("'", "''")}'::pg_catalog.regclass`
  return `declare inserter text; begin
    if new.status not in ('draft','queued') then ${refuse(rules.refusals.begin)} end if;
    inserter := pg_catalog.current_setting('role');
    if inserter = 'none' then inserter := session_user; end if;
    if not pg_catalog.has_any_column_privilege(inserter::pg_catalog.name, tg_relid, 'update') then
      new.created_by := pg_catalog.concat(new.created_by || ' via ', inserter); end if;
    ${resets.join(' ')}
    new.seq := pg_catalog.nextval(${sequence}); new.ref := coalesce(new.ref, new.id);
    new.lane := ${rules.laneOf('pg_catalog.lower')}; new.target_snapshot := ${snapshotIn(schema)};
    return new; end;`
}

/**
 * Guards compare the service with it. Reads the row of that key, or the next one, which is
 * discarded: with a condition of equality, a planner without statistics may take any index that
 * starts with the project, and read all of it.
 */
function snapshotIn(schema: string): string {
  const shown = (
    target: TargetKind,
  ) => `(select ${snapshotSql('postgres', target, 'mirrored.')} from
    (select case when new.project_id <> '' then new.project_id
      else (select project_id from ${schema}.${target}s order by project_id, id limit 1)
      end) own (project)
    cross join lateral (select * from ${schema}.${target}s where (project_id, id) >= (own.project,
    new.${target}_id)
      order by project_id, id limit 1) mirrored
    where mirrored.project_id = own.project and mirrored.id = new.${target}_id
    and mirrored.deleted_at is null)`
  return `case when ${rules.isOnConversation} then ${shown('conversation')} else ${shown('visitor')}
    end`
}
