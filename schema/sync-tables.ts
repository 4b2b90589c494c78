/** Runs, cursors, gaps, locks, workers, and what was learned about the service. */
import { projectColumns, type TableSpec } from './column-types.ts'
import { childStreamNames } from './stream-specs.ts'

const processColumns = {
  host: ['text', 'host name'],
  pid: ['integer', 'process id'],
  process: ['text', 'distinguishes the process from a later one with the same process id'],
} as const

export const syncTables = {
  sync_runs: {
    note: 'Every sync run, with its outcome.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      mode: ['text', 'incremental, reconcile or full'],
      started_at: ['time', 'when it started'],
      finished_at: ['time?', 'when it ended; null while it runs'],
      outcome: ['text?', 'complete, gaps, failed or interrupted; null while it runs'],
      requests: ['integer', 'requests sent'],
      rows_read: ['integer', 'rows in the responses of the service'],
      rows_changed: ['integer', 'rows that were new or different from what was stored'],
      streams: ['json?', 'the same figures for each stream'],
      strings_escaped: [
        'integer',
        'strings that the database could not store as they were, and that are stored escaped',
      ],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
      request_log: [
        'json?',
        'pairs of a time and the requests sent until then, of the last minutes',
      ],
      lock_token: ['text?', 'token of its lock in sync_locks; null = it has none'],
    },
  },
  sync_cursors: {
    note: 'How far each list has been read.',
    key: ['project_id', 'stream'],
    columns: {
      ...projectColumns,
      stream: ['key', 'name of the cursor'],
      position: ['text', "in the stream's own format"],
    },
  },
  sync_gaps: {
    note: 'What is known to be missing. Open while resolved_at is null.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      stream: ['text', 'the stream'],
      from_ts: ['time?', 'first second; null = not known'],
      to_ts: ['time?', 'last second; null = not known'],
      reason: ['text', 'why it is missing'],
      found_at: ['time', 'when it was noticed'],
      resolved_at: ['time?', 'when it was filled'],
      dedup_key: ['key', 'identifies the gap, so that it is open only once'],
      seen_at: ['integer', 'when it was last found again, in milliseconds since 1970'],
    },
  },
  sync_children: {
    note:
      'Which child lists (read one parent at a time) are to be read, and ' +
      'how far they have been read.',
    key: ['project_id', 'stream', 'parent_id'],
    columns: {
      ...projectColumns,
      stream: ['key', childStreamNames.join(', ')],
      parent_id: ['key', 'the conversation, visitor or call'],
      requested_version: ['integer', 'grows when the parent changes'],
      read_version: [
        'integer',
        'the requested version that the last read answered; 0 = never read',
      ],
      due_at: ['integer?', 'when to read it, in milliseconds since 1970; null = nothing to read'],
      attempts: ['integer', 'failures in a row'],
      cursor: ['text?', 'where the next read continues'],
      checked_at: ['integer?', 'when it was last read, in milliseconds since 1970'],
      full_read_at: ['integer?', 'when all of it was last read, in milliseconds since 1970'],
      error: ['text?', 'why the last read failed'],
      listed_rows: ['integer?', 'how many rows the list had when all of it was last read'],
      unlisted: [
        'text?',
        'stored rows that the last reading of the whole list did not show: the next one ' +
          'that does not marks them as deleted',
      ],
      reread_whole: ['integer?', '1 = the whole list is to be read again, not only what is new'],
      doubted_version: [
        'integer?',
        'the requested version while too many parents are missing, this one too: without a ' +
          'newer one, nothing is requested',
      ],
    },
  },
  sync_seen_rows: {
    note:
      'Ids that a scan of a whole list has returned, kept until the rows that it did not ' +
      'return have been checked.',
    key: ['project_id', 'scan', 'id'],
    columns: {
      ...projectColumns,
      scan: ['key', 'name of the scan'],
      id: ['key', 'id that it returned'],
    },
  },
  sync_locks: {
    note: 'Which process is syncing a stream of a project.',
    key: ['project_id', 'stream'],
    notMoved: 'of processes, which have ended',
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      token: ['text', 'identifies the lock, which can cover several streams'],
      ...processColumns,
      since: ['time', 'when it acquired the lock'],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
    },
  },
  sync_streams: {
    note: 'The result of the last sync of each stream.',
    key: ['project_id', 'stream'],
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      synced_at: ['time?', 'when it was last read to its end'],
      skipped: ['text?', 'the scope that the key lacked, so that the last sync skipped it'],
      failed: ['text?', 'why the last sync failed'],
      failed_since: ['time?', 'since when every sync has failed; null = the last one did not fail'],
      counted_rows: [
        'integer?',
        'its number of rows when they were last counted, deleted ones included',
      ],
      counted_at: ['time?', 'when they were last counted'],
    },
  },
  sync_failures: {
    note: 'Jobs of the workers that are failing. A row is deleted when the same job succeeds.',
    key: ['project_id', 'job', 'subject'],
    columns: {
      project_id: ['key', 'the project; empty if it concerns all projects'],
      job: [
        'key',
        'sync, writebacks, schedule, housekeeping, maintenance, outbox_poll, notify or queue ' +
          '(paused)',
      ],
      subject: [
        'key',
        'stream and mode of a sync job, lane of write-backs, or schedule; else empty',
      ],
      since: ['time', 'when it first failed'],
      last_at: ['time', 'when it last failed'],
      failures: ['integer', 'how often it has failed since then'],
      reason: ['text', 'why it failed the last time'],
    },
  },
  sync_notifications: {
    note: 'What was announced to the address of `notify`, until it is over.',
    key: ['project_id', 'event', 'subject'],
    columns: {
      ...projectColumns,
      event: ['key', 'approval, uncertain, failed, sending_stopped, key_denied, gap, disk or week'],
      subject: ['key', 'what it was about, such as a batch; else empty'],
      level: ['integer', 'rises when there is more to announce; 0 = it is over'],
      announced_at: ['integer', 'when it was announced, in milliseconds since 1970; 0 = never'],
    },
  },
  sync_requests: {
    note: 'Recent requests outside of sync runs: pushes, audits, and write-backs of workers.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID'],
      purpose: ['text', 'push, audit or writebacks'],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
      request_log: [
        'json',
        'pairs of a time and the requests sent until then, of the last ten minutes',
      ],
    },
  },
  sync_projects: {
    note:
      'Projects that are paused, whose sending a person has stopped, or ' +
      'whose request budget has been lost.',
    key: ['project_id'],
    columns: {
      ...projectColumns,
      paused_until: [
        'integer?',
        'no requests are sent before this time, in milliseconds since 1970; null = not paused',
      ],
      paused_key: [
        'text?',
        'fingerprint of the key that the service denied; a different key ends the pause',
      ],
      paused_why: ['text?', 'why it is paused'],
      budget_lost_at: [
        'integer?',
        'when the shared record of the budget was last lost, in milliseconds since 1970',
      ],
      budget_lost_why: ['text?', 'why it was lost'],
      sending_stopped_at: [
        'time?',
        'when a person stopped the sending of all write-backs; null = it is not stopped',
      ],
      sending_stopped_by: ['text?', 'who stopped it'],
      circuit_closed_at: [
        'time?',
        'when a person last closed the circuit breaker of write-backs: ' +
          'it ignores what failed before',
      ],
    },
  },
  sync_budgets: {
    note:
      'The request budget of each key, shared by all processes that use ' +
      'this warehouse without Redis.',
    key: ['name'],
    notMoved: 'closed for a window instead, as the other database has another clock',
    columns: {
      name: ['key', 'fingerprint of the key'],
      version: ['text', 'changes with every write'],
      state: ['text', 'slots in use, and until when'],
    },
  },
  sync_keys: {
    note: 'When each key was last used, wherever its request budget is stored.',
    key: ['name'],
    notMoved: 'taken over by a statement, as the other database has another clock',
    columns: {
      name: ['key', 'fingerprint of the key'],
      used_at: ['integer', 'milliseconds since 1970, by the clock of the database'],
    },
  },
  sync_installation: {
    note:
      'One row: what keeps the jobs of this installation apart from ' +
      'those of others in the same queue.',
    key: ['id'],
    notMoved: 'taken over by a statement, if the whole warehouse moves',
    columns: { id: ['key', 'UUID'] },
  },
  sync_moves: {
    note:
      'Projects that `deskmirror move` has moved from or to this warehouse. While the state ' +
      'is arriving or moved, the database refuses to change their rows here.',
    key: ['project_id'],
    notMoved: 'each warehouse says what it is itself',
    columns: {
      project_id: ['key', 'the project; empty = the warehouse with all of its projects'],
      move_id: ['text', 'UUID, the same in both warehouses'],
      state: [
        'text',
        'leaving: it is being copied to the other warehouse, and is still used here; moved: it ' +
          'is used there; arriving: it is being copied from there; arrived: it is used here',
      ],
      other: ['text', 'the other warehouse, without credentials'],
      since: ['time', 'since when it is in this state'],
      verified_at: ['time?', 'of an arriving one: when all of it was here and had been compared'],
      first_place: [
        'integer',
        'added to the places of its write-backs in the queue, as others have the first ones',
      ],
    },
  },
  sync_workers: {
    note: 'Workers that are running, or were until recently.',
    key: ['id'],
    notMoved: 'of processes, which have ended',
    columns: {
      id: ['key', 'UUID'],
      ...processColumns,
      queue: ['text', 'the kind of its queue, such as redis'],
      since: ['time', 'when it started'],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
      configuration: ['text', 'digest of its projects and schedules'],
    },
  },
  erased_ids: {
    note:
      'Visitors that `deskmirror erase` has erased, their conversations and calls: the ' +
      'database stores no row of them again. And, without a project of their own, erased projects.',
    key: ['project_id', 'id'],
    columns: {
      project_id: ['key', 'the project; empty = the id is that of a project'],
      id: ['key', 'the id at the service, in small letters'],
      visitor_id: ['text?', 'the visitor with whom it was erased, in small letters'],
      searched_at: [
        'time?',
        'when the erasure had cleaned and searched files and statistics; null: it was ' +
          'killed before, so erase it again',
      ],
    },
  },
  service_behaviours: {
    note: 'How the service was observed to behave where its documentation does not say.',
    key: ['project_id', 'name'],
    columns: {
      ...projectColumns,
      name: ['key', 'name of the behaviour'],
      value: ['text', 'what was observed'],
      evidence: ['text', 'the observation that shows it'],
      learned_at: ['time', 'when the value was first observed'],
    },
  },
  discovered_fields: {
    note: 'Undocumented fields of the service, and the columns that store them.',
    key: ['project_id', 'stream', 'path'],
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      path: ['key', 'dotted path of the field within the row'],
      column_name: ['text?', "column of the stream's table; null = stays in raw only"],
      type: ['text', 'boolean, integer, number, timestamp, text or json'],
      needed_type: [
        'text?',
        'the type that stored values need, which the column does not have yet; null = all fit',
      ],
      former_columns: [
        'text?',
        'as JSON, the columns that it had before, whose type could not be changed because ' +
          'something else uses them: they have the values that fit their ' +
          'type, and null for others',
      ],
      first_seen_at: ['time', 'when the field first appeared'],
      fill_after: [
        'text?',
        'the key up to which the column has been filled for stored rows; null = completely',
      ],
    },
  },
} as const satisfies Record<string, TableSpec>

/** The table of audits: random samples of the mirror that were read again. */
export const auditTables = {
  sync_audits: {
    note: 'Audits: random samples of rows that were read again with their children, and compared.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      stream: ['key', 'conversations or visitors'],
      started_at: ['time', 'when the sample was drawn'],
      finished_at: ['time', 'when it ended'],
      population: ['integer', 'rows that could be drawn'],
      drawn: ['integer', 'rows that were drawn'],
      compared: ['integer', 'rows that were read again and compared'],
      differing: ['integer', 'rows that differed, and that no sync corrected in time'],
      corrected: ['integer', 'of these, rows that are stored again as the service has them'],
      gone: ['integer', 'rows that the service no longer had'],
      unreadable: ['integer', 'rows that could not be read'],
      requests: ['integer', 'requests sent'],
      took_ms: ['integer', 'how long it took, in milliseconds'],
      differences: [
        'json?',
        'the first 1,000 differences: stream, key, kind, fields, and a hash of the stored ' +
          'row; never a value; null = none, or erased',
      ],
    },
  },
} as const satisfies Record<string, TableSpec>
