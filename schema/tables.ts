/**
 * Every table of the warehouse at this version, as data: the source for inserts, for types and for the data dictionary.
 * A column is its portable type (`?` = may be null) and a note. A test checks that the migrations create these tables.
 */
import { operations, operationsWhere, operationTypes, type TargetKind } from '../src/core/outbox/writeback-request.ts'
import { analyticsTables } from './analytics-tables.ts'
import type { ColumnType } from './column-types.ts'
import { projectColumns, type TableSpec } from './table-spec.ts'

export type { ColumnSpec, TableSpec } from './table-spec.ts'

const mirroredColumns = {
  ...projectColumns,
  raw: ['json', 'the row as the service sent it'],
  synced_at: ['time', 'when the stored copy was requested from the service'],
  run_id: ['text?', 'the sync run that stored it, in sync_runs'],
  asked_at: ['integer', 'synced_at in milliseconds since 1970: an older copy never replaces a newer one'],
} as const
const deletionColumns = {
  deleted_at: ['time?', 'when the service was found to no longer have it; null while it exists'],
} as const
/** A day in the project's time zone. Windows of a project never overlap, and all are days of one zone. */
const dayColumns = {
  window_from: ['time', 'start of the day'],
  window_to: ['time', 'end of the day, which is the start of the next'],
  day: ['date?', 'the local date; null = stored by an older version, until the rollups are next read'],
  time_zone: [
    'text?',
    'the time zone of the days (DESKMIRROR_TIME_ZONE): the same for all rows of a project; null = as for day',
  ],
} as const

const listAll = (names: readonly string[]) => new Intl.ListFormat('en-GB').format(names)
const listAny = (names: readonly string[]) => new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(names)
const operationsOn = (kind: TargetKind) => listAll(operationsWhere(({ target }) => target === kind))
const payloads = Object.values(operationTypes).map(({ fields }) => listAll(Object.keys(fields)))

export const tables = {
  conversations: {
    note: 'Conversations with visitors. Open work is handled_at is null; status is always open.',
    key: ['project_id', 'id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      id: ['key', 'UUID'],
      visitor_id: ['text?', 'the visitor, in visitors'],
      status: ['text?', 'always open'],
      created_at: ['time?', 'when it started'],
      last_message_at: ['time?', 'when its last message was written'],
      last_message_sender_type: ['text?', 'who wrote it: agent or another value'],
      handled_at: ['time?', 'when it was marked handled; null = open work'],
      waiting_since: [
        'time?',
        'since when the visitor has been waiting for an answer; null = the visitor is not waiting',
      ],
      assigned_agent_id: ['text?', 'the agent to whom it is assigned'],
      origin: ['text?', 'how it started: visitor_initiated or another value'],
      messages_complete: ['boolean?', 'false = the service did not list all of its messages; null = not read yet'],
    },
  },
  messages: {
    note: 'Messages of the conversations, including system events (kind is not utterance).',
    key: ['project_id', 'conversation_id', 'id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      conversation_id: ['key', 'the conversation, in conversations'],
      id: ['integer', 'id of the message in the service'],
      sender_type: ['text?', 'who wrote it: agent or another value'],
      kind: ['text?', 'utterance = written by a person or the AI; anything else is a system event'],
      content: ['text?', 'the text'],
      sender_display_name: ['text?', 'the name that the visitor saw'],
      created_at: ['time?', 'when it was written'],
    },
  },
  visitors: {
    note: 'Visitor profiles. Undocumented fields get columns when they first appear.',
    key: ['project_id', 'id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      id: ['key', 'UUID'],
      name: ['text?', 'null = not known'],
      email: ['text?', 'null = not known'],
    },
  },
  visitor_activity: {
    note: 'What visitors did. An entry has no id: its content and its number among equal entries identify it.',
    key: ['project_id', 'visitor_id', 'entry_hash', 'ordinal'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      visitor_id: ['key', 'the visitor, in visitors'],
      entry_hash: ['key', 'hash of the entry as the service sent it'],
      ordinal: ['integer', 'number among entries with equal content'],
      occurred_at: ['time?', 'when it happened'],
    },
  },
  calls: {
    note: 'Calls.',
    key: ['project_id', 'id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      id: ['key', 'id of the call in the service'],
      occurred_at: ['time?', 'when it started'],
    },
  },
  call_recordings: {
    note: 'Whether calls have recordings, and what the service says about them; never a recording itself.',
    key: ['project_id', 'call_id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      call_id: ['key', 'the call, in calls'],
      has_recording: ['boolean?', 'false = there is none so far'],
      checked_at: ['time?', 'when the service was last asked for it'],
    },
  },
  analytics_rollups: {
    note: 'The daily rollups of the service. A past day can still change: read_at says when each was last read.',
    key: ['project_id', 'window_from', 'window_to'],
    columns: {
      ...mirroredColumns,
      ...dayColumns,
      read_at: ['time?', 'when the service was last asked for it; later changes are not in it'],
    },
  },
  analytics_metrics: {
    note: 'The numbers of the rollups, one per row. When each was last read: read_at in analytics_rollups.',
    key: ['project_id', 'window_from', 'window_to', 'metric'],
    columns: {
      ...projectColumns,
      ...dayColumns,
      metric: ['key', 'dotted path of the number within the rollup'],
      value: ['number', 'the number'],
    },
  },
  availability_snapshots: {
    note: 'Whether human agents were available, each time the service was asked.',
    key: ['project_id', 'taken_at'],
    columns: {
      ...mirroredColumns,
      taken_at: ['time', 'when the service was asked'],
      available: ['boolean?', 'whether any agent was available'],
      agents_online: ['integer?', 'how many agents were online'],
    },
  },
  conversation_changes: {
    note: 'Changes of conversations from one sync to the next: a history that the service does not keep.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      conversation_id: ['key', 'the conversation'],
      field: ['text', 'the column that changed'],
      old_value: ['text?', 'before'],
      new_value: ['text?', 'after'],
      seen_at: ['time', 'when a sync found the change'],
    },
  },
  writebacks: {
    note: 'The queue of changes to send to the service. Inserting a row with operation, target and payload queues a write-back.',
    key: ['project_id', 'id'],
    columns: {
      project_id: ['key', 'the project that the row belongs to; with a single project it can be left out'],
      id: ['key', 'has a default'],
      operation: ['text', listAny(operations)],
      conversation_id: ['text?', `target of ${operationsOn('conversation')}`],
      visitor_id: ['text?', `target of ${operationsOn('visitor')}`],
      payload: ['json', `what to send: ${payloads.join('; ')}`],
      status: [
        'text',
        'draft, queued, sending, succeeded, failed, conflict, uncertain, cancelled or expired; rows covered by an unfinished row of writeback_cancellations count as cancelled',
      ],
      attempts: ['integer', 'how often it was sent'],
      batch_id: ['text?', 'the import that created it'],
      ref: ['text?', 'your own key, or else the id: the same key is never queued twice'],
      expect: ['text?', 'the last message that the person saw: its id or its time'],
      expires_at: ['time?', 'it is not sent after this time'],
      created_at: ['time', 'has a default'],
      created_by: ['text?', 'who queued it'],
      sent_at: ['time?', 'when it was last sent'],
      finished_at: ['time?', 'when its outcome was settled'],
      request_id: ['text?', "request id of the service's last answer, to quote to its support"],
      error: ['text?', 'why it did not succeed'],
      evidence: ['json?', 'what its outcome was concluded from'],
      step: ['text?', 'why it is in this status'],
      message_id: ['text?', 'id of the message in the service that this reply became'],
      seen: ['json?', 'what the mirror showed of its target when it was queued; null = the target was not mirrored'],
      seq: ['integer', 'its place in the queue'],
      lane: ['key', 'its conversation or visitor: write-backs of one lane are sent one after the other'],
      epoch: ['integer', 'grows with each claim, so that a process that has lost its claim cannot change the row'],
      owner: ['text?', 'the process that has claimed it'],
      lease_until: ['integer?', 'until when the claim is valid, in milliseconds since 1970'],
      due_at: ['integer?', 'it is not claimed before this time, in milliseconds since 1970'],
      revoked_as: [
        'text?',
        'cancelled or expired: decided while it was being sent; it is not sent again, and gets this status if it did not arrive',
      ],
    },
  },
  writeback_cancellations: {
    note: 'Cancellations of a whole batch, or of everything. Each takes effect at once; the rows are updated afterwards.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      batch_id: ['text?', 'the batch; null = everything'],
      nameless: ['integer', '1 = also rows without a project, if there is a single project'],
      up_to: ['integer', 'the last place in the queue that it covers'],
      done_to: ['integer', 'the last place in the queue up to which rows have been updated'],
      cancelled_at: ['time', 'when it was decided'],
      cancelled_by: ['text', 'who decided it'],
      finished_at: ['time?', 'when all rows had been updated; null = not yet'],
    },
  },
  writeback_events: {
    note: 'Every status change of every write-back, recorded by the database itself; append-only.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'has a default'],
      writeback_id: ['key', 'the write-back'],
      at: ['time', 'when it happened'],
      from_status: ['text?', 'status before; null = it was created'],
      to_status: ['text', 'status after'],
      detail: ['text?', 'why'],
      request_id: ['text?', "request id of the service's answer, to quote to its support"],
      seq: ['integer', 'its place in the log'],
    },
  },
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
      rows_read: ['integer', 'rows in the answers of the service'],
      rows_changed: ['integer', 'rows that were new or different from what was stored'],
      streams: ['json?', 'the same figures for each stream'],
      strings_escaped: [
        'integer',
        'strings that the database could not store as they were, and that are stored escaped',
      ],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
      request_log: ['json?', 'pairs of a time and the requests sent until then, of the last minutes'],
      holder: ['text?', 'token of its lock in sync_locks'],
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
      subject: ['key', 'identifies the gap, so that it is open only once'],
      seen_at: ['integer?', 'when it was last found again, in milliseconds since 1970'],
    },
  },
  sync_children: {
    note: 'Which child lists (read one parent at a time) are to be read, and how far they have been read.',
    key: ['project_id', 'stream', 'parent_id'],
    columns: {
      ...projectColumns,
      stream: ['key', 'messages, visitor_activity or call_recordings'],
      parent_id: ['key', 'the conversation, visitor or call'],
      wanted: ['integer', 'requested version: grows when the parent changes'],
      fetched: ['integer', 'the requested version that the last read answered; 0 = never read'],
      due_at: ['integer?', 'when to read it, in milliseconds since 1970; null = nothing to read'],
      attempts: ['integer', 'failures in a row'],
      position: ['text?', 'where the next read continues'],
      checked_at: ['integer?', 'when it was last read, in milliseconds since 1970'],
      error: ['text?', 'why the last read failed'],
      whole: ['integer?', '1 = the whole list is to be read again, not only what is new'],
    },
  },
  sync_census: {
    note: 'Ids that a scan of a whole list has returned, kept until the rows that it did not return have been checked.',
    key: ['project_id', 'census', 'id'],
    columns: { ...projectColumns, census: ['key', 'name of the scan'], id: ['key', 'id that it returned'] },
  },
  sync_locks: {
    note: 'Which process is syncing a stream of a project.',
    key: ['project_id', 'stream'],
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      token: ['text', 'identifies the lock, which can cover several streams'],
      host: ['text', 'host name'],
      pid: ['integer', 'process id'],
      process: ['text', 'distinguishes the process from a later one with the same process id'],
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
    },
  },
  sync_failures: {
    note: 'Jobs of the workers that are failing. A row is deleted when the same job succeeds.',
    key: ['project_id', 'job', 'subject'],
    columns: {
      project_id: ['key', 'the project; empty if it concerns all projects'],
      job: ['key', 'pass, writebacks, webhooks, schedule, housekeeping, maintenance or outbox_poll'],
      subject: ['key', 'stream and mode of a sync job, lane of write-backs, or schedule; else empty'],
      since: ['time', 'when it first failed'],
      last_at: ['time', 'when it last failed'],
      failures: ['integer', 'how often it has failed since then'],
      reason: ['text', 'why it failed the last time'],
    },
  },
  sync_requests: {
    note: 'Recent requests outside of sync runs: pushes, dry runs of imports, write-backs and webhooks of workers.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID'],
      purpose: ['text', 'push, dry_run, writebacks or webhooks'],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
      request_log: ['json', 'pairs of a time and the requests sent until then, of the last ten minutes'],
    },
  },
  sync_projects: {
    note: 'Projects that are paused, or whose request budget has been lost.',
    key: ['project_id'],
    columns: {
      ...projectColumns,
      paused_until: [
        'integer?',
        'no requests are sent before this time, in milliseconds since 1970; null = not paused',
      ],
      paused_key: ['text?', 'fingerprint of the key that the service denied; a different key ends the pause'],
      paused_why: ['text?', 'why it is paused'],
      budget_lost_at: ['integer?', 'when the shared record of the budget was last lost, in milliseconds since 1970'],
      budget_lost_why: ['text?', 'why it was lost'],
    },
  },
  sync_budgets: {
    note: 'The request budget of each key, shared by all processes that use this warehouse without Redis.',
    key: ['name'],
    columns: {
      name: ['key', 'fingerprint of the key'],
      version: ['text', 'changes with every write'],
      state: ['text', 'slots in use, and until when'],
    },
  },
  sync_keys: {
    note: 'When each key was last used, wherever its request budget is stored.',
    key: ['name'],
    columns: {
      name: ['key', 'fingerprint of the key'],
      used_at: ['integer', 'milliseconds since 1970, by the clock of the database'],
    },
  },
  sync_workers: {
    note: 'Workers that are running, or were until recently.',
    key: ['id'],
    columns: {
      id: ['key', 'UUID'],
      host: ['text', 'host name'],
      pid: ['integer', 'process id'],
      process: ['text', 'distinguishes the process from a later one with the same process id'],
      queue: ['text', 'redis, postgres or embedded'],
      since: ['time', 'when it started'],
      beat_at: ['integer', 'last heartbeat, in milliseconds since 1970'],
    },
  },
  webhook_deliveries: {
    note: 'Deliveries of webhooks. Each only says what to read again, and is never a source of rows; kept for 30 days.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'SHA-256 of the body, in hexadecimal digits'],
      received_at: ['time', 'when it arrived'],
      bytes: ['integer', 'size of the body'],
      body: ['text', 'the body as text; bytes that are not UTF-8 are replaced by U+FFFD'],
      due_at: ['integer?', 'when to process it, in milliseconds since 1970; null = done'],
      attempts: ['integer', 'how often it was claimed for processing'],
      taken_at: ['time?', 'when it was processed'],
      found: ['text?', 'what was read because of it'],
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
      first_seen_at: ['time', 'when the field first appeared'],
      fill_after: ['text?', 'the key up to which the column has been filled for stored rows; null = completely'],
    },
  },
  ...analyticsTables,
} as const satisfies Record<string, TableSpec>

export type TableName = keyof typeof tables

type TypeValues = {
  key: string
  text: string
  integer: number
  number: number
  boolean: boolean
  time: string
  date: string
  json: string
  int32: number
  utc_time: string
  local_date: string
}
type ColumnValue<T extends string> = T extends `${infer U extends ColumnType}?`
  ? TypeValues[U] | null
  : TypeValues[T & ColumnType]

/** The tables as types for kysely. Integers beyond 2^53 are read as bigint although their type is number. */
export type DatabaseSchema = {
  [T in TableName]: {
    [C in keyof (typeof tables)[T]['columns']]: (typeof tables)[T]['columns'][C] extends readonly [infer S, string]
      ? ColumnValue<S & string>
      : never
  }
}
