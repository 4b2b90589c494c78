/** The triggers of write-backs in SQLite. */
import { snapshotSql, type TargetKind } from './operation-specs.ts'
import {
  addRows,
  conditions,
  counters,
  decisions,
  differ,
  disapproval,
  hasLeft,
  isDisapproved,
  isOnConversation,
  isRevoked,
  laneOf,
  outcome,
  person,
  refusals,
  request,
} from './trigger-conditions.ts'

export type SqliteTrigger = { readonly name: string; readonly when: string; readonly does: string }

/** Their order decides in which SQLite runs those of one event. */
export function writebackTriggersInSqlite(): readonly SqliteTrigger[] {
  const own = 'project_id = new.project_id and id = new.id'
  /** A row without a project belongs to the single project. */
  const shown = (target: TargetKind) => `(select ${snapshotSql('sqlite', target)} from ${target}s
    where project_id = case when new.project_id <> '' then new.project_id else (select min(project_id) from ${target}s) end
      and id = new.${target}_id and deleted_at is null)`
  const seen = `case when ${isOnConversation} then ${shown('conversation')} else ${shown('visitor')} end`
  const resets = [
    ...counters.map((column) => `${column} = 0`),
    ...[...outcome, ...decisions].map((column) => `${column} = null`),
  ]
  // Each event gets its place when it is inserted, without a second statement, and an id that ascends with it: random ids would
  // be spread over the whole index.
  const nextSeq = 'select coalesce(max(seq), 0) + 1 as place from writeback_events'
  const log = (columns: string, values: string) => `insert into writeback_events
    (project_id, id, writeback_id, from_status, to_status, detail, seq${columns}) select new.project_id,
    printf('%024x', place) || lower(hex(randomblob(4))), new.id, ${values} from (${nextSeq})`
  const refuse = (why: string) => `select raise(abort, '${why}')`
  const joinBatch = `insert into writeback_batches (project_id, id, rows, created_at, created_by)
    values (new.project_id, new.batch_id, 1, new.created_at, new.created_by)
    on conflict (project_id, id) do update set ${addRows('1', '')}`
  const leaveBatch = `update writeback_batches set rows = rows - 1 where project_id = old.project_id and id = old.batch_id`
  const detail = `case when new.step is not old.step then new.step else new.status || ' while it was on its way' end`
  return [
    {
      name: 'writebacks_begin',
      when: `before insert on writebacks when new.status not in ('draft','queued')`,
      does: refuse(refusals.begin),
    },
    {
      name: 'writebacks_arrived',
      when: `before update of status on writebacks when old.status = 'succeeded' and new.status <> 'succeeded'`,
      does: refuse(refusals.arrived),
    },
    {
      // A new epoch: a process that has read the row before must not send the changed one.
      name: 'writebacks_changed',
      when: `after update of ${request.join(', ')} on writebacks when ${differ('sqlite', request)}`,
      does: `update writebacks set lane = ${laneOf('lower')}, epoch = epoch + 1 where ${own}`,
    },
    {
      name: 'events_kept',
      when: `before update on writeback_events when old.seq <> 0 and old.project_id <> ''`,
      does: refuse(refusals.log),
    },
    {
      name: 'writebacks_named',
      when: `after update of project_id on writebacks when old.project_id = '' and new.seen is null`,
      does: `update writebacks set seen = ${seen} where ${own}`,
    },
    {
      name: 'events_begun',
      when: 'after insert on writeback_events when new.seq = 0',
      does: `update writeback_events set seq = (${nextSeq}) where ${own}`,
    },
    {
      name: 'writebacks_revoked',
      when: `after update of status on writebacks when ${isRevoked}`,
      does: `update writebacks set status = 'sending', revoked_as = new.status, finished_at = null, error = null,
          owner = old.owner, lease_until = old.lease_until, due_at = old.due_at where ${own};
        ${log(', request_id', `'sending', 'sending', ${detail}, place, new.request_id`)}`,
    },
    {
      name: 'writebacks_begun',
      when: 'after insert on writebacks',
      does: `update writebacks set lane = ${laneOf('lower')}, ref = coalesce(new.ref, new.id), seen = ${seen},
          seq = (select coalesce(max(seq), 0) + 1 from writebacks), ${resets.join(', ')} where ${own};
        ${log('', 'null, new.status, new.step, place')}`,
    },
    { name: 'writebacks_batched', when: 'after insert on writebacks when new.batch_id is not null', does: joinBatch },
    {
      name: 'writebacks_rebatched_from',
      when: 'after update of batch_id on writebacks when old.batch_id is not null and new.batch_id is not old.batch_id',
      does: leaveBatch,
    },
    {
      name: 'writebacks_rebatched_to',
      when: 'after update of batch_id on writebacks when new.batch_id is not null and new.batch_id is not old.batch_id',
      does: joinBatch,
    },
    {
      name: 'writebacks_unbatched',
      when: 'after delete on writebacks when old.batch_id is not null',
      does: leaveBatch,
    },
    {
      name: 'writebacks_stepped',
      when: `after update of status, step on writebacks
        when (${differ('sqlite', ['status', 'step'])}) and not (${isRevoked})
          and not (old.status in ('cancelled','expired') and new.status = 'sending' and new.step is old.step)`,
      does: log(', request_id, person', `old.status, new.status, new.step, place, new.request_id, ${person('sqlite')}`),
    },
    {
      name: 'events_never_deleted',
      when: `before delete on writeback_events when not exists (select 1 from writebacks
        where project_id = old.project_id and id = old.writeback_id and erased_at is not null)`,
      does: refuse(refusals.log),
    },
    {
      name: 'writebacks_stay_erased',
      when: `before update of status on writebacks when old.erased_at is not null and ${differ('sqlite', ['status'])}`,
      does: refuse(refusals.erased),
    },
    {
      name: 'writebacks_left',
      when: `before update of ${request.join(', ')} on writebacks when ${hasLeft('sqlite')}`,
      does: refuse(refusals.left),
    },
    {
      name: 'writebacks_disapproved',
      when: `after update of ${[...request, ...conditions].join(', ')} on writebacks when ${isDisapproved('sqlite')}`,
      does: `update writebacks set approved_by = null, undo_until = null, epoch = epoch + 1 where ${own};
        update writebacks set status = 'draft', due_at = null, step = '${disapproval}' where ${own} and status = 'queued'`,
    },
  ]
}
