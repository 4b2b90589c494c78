/** The triggers of write-backs in SQLite. */
import { snapshotSql, type TargetKind } from './operation-specs.ts'
import * as rules from './trigger-conditions.ts'

/** By name. Their order decides in which SQLite runs those of one event. */
export type SqliteTriggers = Readonly<Record<string, readonly [when: string, does: string]>>

/** No row that a trigger has numbered comes near it. */
const maxSeq = '4611686018427387904'

/** Behind the last row. A number that people gave does not count. */
const next = (table: string, others: string) =>
  `(select coalesce((select seq from ${table} where seq < ${maxSeq} ${others}
    order by seq desc limit 1), 0) + 1)`

export function writebackTriggersInSqlite(): SqliteTriggers {
  const own = 'project_id = new.project_id and id = new.id'
  /** A row without a project belongs to the single project. */
  const shown = (target: TargetKind) => `(select ${snapshotSql('sqlite', target)} from ${target}s
    where project_id = case when new.project_id <> '' then new.project_id
    else (select min(project_id) from ${target}s) end
      and id = new.${target}_id and deleted_at is null)`
  const snapshot = `case when ${rules.isOnConversation} then ${shown('conversation')}
    else ${shown('visitor')} end`
  const resets = [
    ...rules.counters.map((column) => `${column} = 0`),
    ...[...rules.outcome, ...rules.decisions].map((column) => `${column} = null`),
  ]
  // Each event gets its place when it is inserted, without a second statement, and an id that
  // ascends with it: random ids would be spread over the whole index.
  const nextSeq = `select ${next('writeback_events', '')} as place`
  const log = (columns: string, values: string) => `insert into writeback_events
    (project_id, id, writeback_id, from_status, to_status, detail, seq${columns})
    select new.project_id,
    printf('%024x', place) || lower(hex(randomblob(4))), new.id, ${values} from (${nextSeq})`
  const refuse = (why: string) => `select raise(abort, '${why}')`
  const joinBatch = `insert into writeback_batches (project_id, id, rows, created_at, created_by)
    values (new.project_id, new.batch_id, 1, new.created_at, new.created_by)
    on conflict (project_id, id) do update set ${rules.addRows('1', '')}`
  const leaveBatch = `update writeback_batches set rows = rows - 1 where project_id = old.project_id
    and id = old.batch_id`
  const detail = `case when new.reason is not old.reason then new.reason
    else new.status || ' while it was on its way' end`
  return {
    writebacks_begin: [
      `before insert on writebacks when new.status not in ('draft','queued')`,
      refuse(rules.refusals.begin),
    ],
    writebacks_arrived: [
      `before update of status on writebacks when old.status = 'succeeded'
        and new.status <> 'succeeded'`,
      refuse(rules.refusals.arrived),
    ],
    // A new token: a process that has read the row before must not send the changed one.
    writebacks_changed: [
      `after update of ${rules.request.join(', ')} on writebacks
        when ${rules.differ('sqlite', rules.request)}`,
      `update writebacks set lane = ${rules.laneOf('lower')}, fencing_token = fencing_token + 1
        where ${own}`,
    ],
    events_kept: [
      `before update on writeback_events when old.seq <> 0 and old.project_id <> ''`,
      refuse(rules.refusals.log),
    ],
    writebacks_named: [
      `after update of project_id on writebacks when old.project_id = ''
        and new.target_snapshot is null`,
      `update writebacks set target_snapshot = ${snapshot} where ${own}`,
    ],
    events_begun: [
      'after insert on writeback_events when new.seq = 0',
      `update writeback_events set seq = (${nextSeq}) where ${own}`,
    ],
    writebacks_revoked: [
      `after update of status on writebacks when ${rules.isRevoked}`,
      `update writebacks set status = 'sending', revoked_as = new.status, finished_at = null, error
        = null,
          owner = old.owner, lease_until = old.lease_until, due_at = old.due_at where ${own};
        ${log(', request_id', `'sending', 'sending', ${detail}, place, new.request_id`)}`,
    ],
    writebacks_begun: [
      'after insert on writebacks',
      `update writebacks set lane = ${rules.laneOf('lower')}, ref = coalesce(new.ref, new.id),
        target_snapshot = ${snapshot},
          seq = ${next('writebacks', `and not (${own})`)}, ${resets.join(', ')} where ${own};
        ${log('', 'null, new.status, new.reason, place')}`,
    ],
    writebacks_batched: ['after insert on writebacks when new.batch_id is not null', joinBatch],
    writebacks_rebatched_from: [
      'after update of batch_id on writebacks when old.batch_id is not null and ' +
        'new.batch_id is not old.batch_id',
      leaveBatch,
    ],
    writebacks_rebatched_to: [
      'after update of batch_id on writebacks when new.batch_id is not null and ' +
        'new.batch_id is not old.batch_id',
      joinBatch,
    ],
    writebacks_unbatched: ['after delete on writebacks when old.batch_id is not null', leaveBatch],
    writebacks_logged: [
      `after update of status, reason on writebacks
        when (${rules.differ('sqlite', ['status', 'reason'])}) and not (${rules.isRevoked})
          and not (old.status in ('cancelled','expired') and new.status = 'sending'
          and new.reason is old.reason)`,
      log(
        ', request_id, person',
        `old.status, new.status, new.reason, place, new.request_id, ${rules.person('sqlite')}`,
      ),
    ],
    events_never_deleted: [
      `before delete on writeback_events when not exists (select 1 from writebacks
        where project_id = old.project_id and id = old.writeback_id and erased_at is not null)`,
      refuse(rules.refusals.log),
    ],
    writebacks_stay_erased: [
      `before update of status on writebacks when old.erased_at is not null
        and ${rules.differ('sqlite', ['status'])}`,
      refuse(rules.refusals.erased),
    ],
    writebacks_left: [
      `before update of ${rules.request.join(', ')} on writebacks when ${rules.hasLeft('sqlite')}`,
      refuse(rules.refusals.left),
    ],
    writebacks_open_kept: [
      `before update of erased_at on writebacks when ${rules.losesWordsTooEarly}`,
      refuse(rules.refusals.open),
    ],
    writebacks_disapproved: [
      `after update of ${[...rules.request, ...rules.conditions].join(', ')} on writebacks
        when ${rules.isDisapproved('sqlite')}`,
      `update writebacks set approved_by = null, undo_until = null, fencing_token = fencing_token +
        1 where ${own};
        update writebacks set status = 'draft', due_at = null, reason = '${rules.disapproval}'
        where ${own} and status = 'queued'`,
    ],
  }
}
