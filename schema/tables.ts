/**
 * Every table of the warehouse as it is now, as data: the one source for loads, for types and for the data dictionary.
 * A column is its portable type (`?` = may be null) and a note. The migrations bring a database to this; a test says so.
 */
import type { ColumnType } from './column-types.ts'

export type ColumnSpec = readonly [type: ColumnType | `${ColumnType}?`, note: string]
export type TableSpec = {
  readonly note: string
  /** Unique, `project_id` first where it has one: projects never touch each other's rows. */
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnSpec>>
}

const projectColumns = { project_id: ['key', 'the project that the row belongs to'] } as const
const mirroredColumns = {
  ...projectColumns,
  raw: ['json', 'the row as the service sent it'],
  synced_at: ['time', 'when the copy that is stored here was asked for'],
  run_id: ['text?', 'the run that stored it, in sync_runs'],
  asked_at: ['integer', 'synced_at in milliseconds since 1970: an older copy never replaces a newer one'],
} as const
const deletionColumns = { deleted_at: ['time?', 'since when the service no longer has it; null while it exists'] } as const
/** A day of the project's time zone. Windows of a project never overlap, and all are of one zone. */
const dayColumns = {
  window_from: ['time', 'start of the day'],
  window_to: ['time', 'end of the day, which is the start of the next'],
  day: ['date?', 'the local date; null = read by a version that did not note it, until the rollups are next read'],
  time_zone: [
    'text?',
    'whose days these are (DESKMIRROR_TIME_ZONE): the same for all rows of a project; null = as day',
  ],
} as const

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
      created_at: ['time?', 'when it began'],
      last_message_at: ['time?', 'when its last message was written'],
      last_message_sender_type: ['text?', 'who wrote it: agent and others'],
      handled_at: ['time?', 'when it was marked handled; null = open work'],
      waiting_since: ['time?', 'since when the visitor waits for an answer; null = does not wait'],
      assigned_agent_id: ['text?', 'the agent that it is assigned to'],
      origin: ['text?', 'how it began: visitor_initiated and others'],
      messages_complete: ['boolean?', 'false: the service would not list all of its messages; null: not read yet'],
    },
  },
  messages: {
    note: 'Messages of the conversations, system events among them (kind is not utterance).',
    key: ['project_id', 'conversation_id', 'id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      conversation_id: ['key', 'the conversation, in conversations'],
      id: ['integer', 'the message within the service'],
      sender_type: ['text?', 'who wrote it: agent and others'],
      kind: ['text?', 'utterance = said by a person or the AI; all else is a system event'],
      content: ['text?', 'the text'],
      sender_display_name: ['text?', 'the name that the visitor saw'],
      created_at: ['time?', 'when it was written'],
    },
  },
  visitors: {
    note: 'Visitor profiles. Fields that the service does not document are columns found as they appeared.',
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
    note: 'What visitors did. An entry has no id of its own: it is known by its content, and by its number among equal ones.',
    key: ['project_id', 'visitor_id', 'entry_hash', 'ordinal'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      visitor_id: ['key', 'the visitor, in visitors'],
      entry_hash: ['key', 'hash of the entry as it came'],
      ordinal: ['integer', 'number among entries of equal content'],
      occurred_at: ['time?', 'when it happened'],
    },
  },
  calls: {
    note: 'Calls.',
    key: ['project_id', 'id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      id: ['key', 'the call within the service'],
      occurred_at: ['time?', 'when it began'],
    },
  },
  call_recordings: {
    note: 'What is known of the recordings of calls; never the recording itself.',
    key: ['project_id', 'call_id'],
    columns: {
      ...mirroredColumns,
      ...deletionColumns,
      call_id: ['key', 'the call, in calls'],
      has_recording: ['boolean?', 'false = there is none, so far'],
      checked_at: ['time?', 'when the service was last asked for it'],
    },
  },
  analytics_rollups: {
    note: 'The rollups of the service, one a day, as they came. A past day can still change: read_at says how old each is.',
    key: ['project_id', 'window_from', 'window_to'],
    columns: {
      ...mirroredColumns,
      ...dayColumns,
      read_at: ['time?', 'when the service was last asked for it; what changed there since is not in it'],
    },
  },
  analytics_metrics: {
    note: 'The numbers of the rollups, one a row. How old each is: read_at in analytics_rollups.',
    key: ['project_id', 'window_from', 'window_to', 'metric'],
    columns: {
      ...projectColumns,
      ...dayColumns,
      metric: ['key', 'dotted path of the number within the rollup'],
      value: ['number', 'the number'],
    },
  },
  availability_snapshots: {
    note: 'Whether human agents were available, each time that we looked.',
    key: ['project_id', 'taken_at'],
    columns: {
      ...mirroredColumns,
      taken_at: ['time', 'when we looked'],
      available: ['boolean?', 'whether anybody was'],
      agents_online: ['integer?', 'how many'],
    },
  },
  conversation_changes: {
    note: 'What changed in conversations from one look to the next: the history that the service does not keep.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      conversation_id: ['key', 'the conversation'],
      field: ['text', 'the column that changed'],
      old_value: ['text?', 'before'],
      new_value: ['text?', 'after'],
      seen_at: ['time', 'when we saw it'],
    },
  },
  writebacks: {
    note: 'The queue of changes to send to the service. Inserting operation, target and payload queues one.',
    key: ['project_id', 'id'],
    columns: {
      project_id: ['key', 'the project that the row belongs to; with a single project it can be left out'],
      id: ['key', 'has a default'],
      operation: ['text', 'message, handled, visitor or note'],
      conversation_id: ['text?', 'target of message and handled'],
      visitor_id: ['text?', 'target of visitor and note'],
      payload: ['json', 'what to send: content and sender_name; handled; name and email; content'],
      status: [
        'text',
        'draft, queued, sending, succeeded, failed, conflict, uncertain, cancelled or expired; what an unfinished row of writeback_cancellations covers counts as cancelled',
      ],
      attempts: ['integer', 'how often it was sent'],
      batch_id: ['text?', 'the import that it came with'],
      ref: ['text?', "the person's own key, else the id: the same one is never queued twice"],
      expect: ['text?', 'the last message that the person saw: its id, or its time'],
      expires_at: ['time?', 'not to be sent after'],
      created_at: ['time', 'has a default'],
      created_by: ['text?', 'who queued it'],
      sent_at: ['time?', 'when it last left'],
      finished_at: ['time?', 'when its fate was settled'],
      request_id: ['text?', "the service's id of the last answer, to quote to its support"],
      error: ['text?', 'why it did not succeed'],
      evidence: ['json?', 'what its fate was concluded from'],
      step: ['text?', 'why it is in this status'],
      message_id: ['text?', 'the message of the service that a reply has become'],
      seen: ['json?', 'what the mirror showed of its target when it was queued; null = it did not know the target'],
      seq: ['integer', 'its place in the queue'],
      lane: ['key', 'what it is about: those of one lane go one after the other'],
      epoch: ['integer', 'grows with each claim, so that whoever lost one cannot act on it'],
      owner: ['text?', 'the process that works on it'],
      lease_until: ['integer?', 'until when that process has it, in milliseconds since 1970'],
      due_at: ['integer?', 'not to be worked on before, in milliseconds since 1970'],
      revoked_as: [
        'text?',
        'cancelled or expired: decided while it was on its way; it is not sent again, and becomes this if it did not arrive',
      ],
    },
  },
  writeback_cancellations: {
    note: 'Cancellations of a whole batch, or of everything. Each holds as soon as it is here; the rows follow.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      batch_id: ['text?', 'the batch; null = everything'],
      nameless: ['integer', '1 = also rows that name no project, where there is only one'],
      up_to: ['integer', 'the last place in the queue that it covers'],
      done_to: ['integer', 'the last place up to which the rows have followed'],
      cancelled_at: ['time', 'when it was decided'],
      cancelled_by: ['text', 'who decided it'],
      finished_at: ['time?', 'when all rows had followed; null = not yet'],
    },
  },
  writeback_events: {
    note: 'Every step of every write-back, kept by the database itself; rows are only ever added.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'has a default'],
      writeback_id: ['key', 'the write-back'],
      at: ['time', 'when'],
      from_status: ['text?', 'before; null = it was created'],
      to_status: ['text', 'after'],
      detail: ['text?', 'why'],
      request_id: ['text?', "the service's id of the answer, to quote to its support"],
      seq: ['integer', 'its place in the log'],
    },
  },
  sync_runs: {
    note: 'Every run, with its outcome.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      mode: ['text', 'incremental, reconcile or full'],
      started_at: ['time', 'when it began'],
      finished_at: ['time?', 'when it ended; null while it runs'],
      outcome: ['text?', 'complete, gaps, failed or interrupted; null while it runs'],
      requests: ['integer', 'requests sent'],
      rows_read: ['integer', 'rows in the answers'],
      rows_changed: ['integer', 'of them new or different from what was stored'],
      streams: ['json?', 'the same for each stream'],
      strings_escaped: ['integer', 'strings that the database could not hold as they were, and holds escaped'],
      beat_at: ['integer', 'last sign of life, in milliseconds since 1970'],
      request_log: ['json?', 'pairs of moment and requests sent until then, of the last minutes'],
      holder: ['text?', 'the lock that it runs under, in sync_locks'],
    },
  },
  sync_cursors: {
    note: 'How far each list has been read.',
    key: ['project_id', 'stream'],
    columns: {
      ...projectColumns,
      stream: ['key', 'name of the cursor'],
      position: ['text', "the stream's own words"],
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
      subject: ['key', 'what the gap is about, so that it is open only once'],
      seen_at: ['integer?', 'when it was last met with, in milliseconds since 1970'],
    },
  },
  sync_children: {
    note: 'What is left to read of lists that are read one parent at a time.',
    key: ['project_id', 'stream', 'parent_id'],
    columns: {
      ...projectColumns,
      stream: ['key', 'messages, visitor_activity or call_recordings'],
      parent_id: ['key', 'the conversation, visitor or call'],
      wanted: ['integer', 'grows when the parent changes'],
      fetched: ['integer', 'the wanted that was last read for; 0 = never read'],
      due_at: ['integer?', 'when to read it, in milliseconds since 1970; null = not'],
      attempts: ['integer', 'failures in a row'],
      position: ['text?', 'what the last read left for the next'],
      checked_at: ['integer?', 'when it was last read, in milliseconds since 1970'],
      error: ['text?', 'why the last read failed'],
      whole: ['integer?', '1 = all of it is to be read again, not only what is new'],
    },
  },
  sync_census: {
    note: 'What a walk through a whole list has seen, kept until what it did not see has been looked after.',
    key: ['project_id', 'census', 'id'],
    columns: { ...projectColumns, census: ['key', 'name of the walk'], id: ['key', 'what was seen'] },
  },
  sync_locks: {
    note: 'Who reads a stream of a project just now.',
    key: ['project_id', 'stream'],
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      token: ['text', 'one holding, of one stream or of several'],
      host: ['text', 'machine'],
      pid: ['integer', 'process'],
      process: ['text', 'tells the process from a later one of the same number'],
      since: ['time', 'when it took the lock'],
      beat_at: ['integer', 'last sign of life, in milliseconds since 1970'],
    },
  },
  sync_streams: {
    note: 'How each stream stands.',
    key: ['project_id', 'stream'],
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      synced_at: ['time?', 'when it last came to its end without failure'],
      skipped: ['text?', 'the scope without which the last pass left it out'],
      failed: ['text?', 'what kept the last pass from its end'],
      failed_since: ['time?', 'when the first of the passes in a row failed that failed; null = the last one did not'],
    },
  },
  sync_failures: {
    note: 'What fails in the workers just now. A row goes when the same job has succeeded.',
    key: ['project_id', 'job', 'subject'],
    columns: {
      project_id: ['key', 'the project; empty where it is about all of them'],
      job: ['key', 'pass, writebacks, webhooks, schedule, housekeeping, maintenance or outbox_poll'],
      subject: ['key', 'the stream and the mode of a pass, the lane of write-backs, the schedule; else empty'],
      since: ['time', 'when it first failed'],
      last_at: ['time', 'when it last failed'],
      failures: ['integer', 'how often it has failed since'],
      reason: ['text', 'why it failed the last time'],
    },
  },
  sync_requests: {
    note: 'The latest requests of what is no run: pushes, dry runs of imports, write-backs and webhooks of workers.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID'],
      purpose: ['text', 'push, dry_run, writebacks or webhooks'],
      beat_at: ['integer', 'last sign of life, in milliseconds since 1970'],
      request_log: ['json', 'moments of the last ten minutes, and the requests sent until then'],
    },
  },
  sync_projects: {
    note: 'Projects that rest, and what befell their request budget.',
    key: ['project_id'],
    columns: {
      ...projectColumns,
      paused_until: ['integer?', 'the worker asks nothing before, in milliseconds since 1970; null = it does not rest'],
      paused_key: ['text?', 'fingerprint of the key that was denied: with another one the project goes on'],
      paused_why: ['text?', 'why it rests'],
      budget_lost_at: ['integer?', 'when the shared record of the budget was last lost, in milliseconds since 1970'],
      budget_lost_why: ['text?', 'how'],
    },
  },
  sync_budgets: {
    note: 'The request budget of each key, shared by all processes that use this warehouse and no Redis.',
    key: ['name'],
    columns: {
      name: ['key', 'fingerprint of the key'],
      version: ['text', 'changes with every write'],
      state: ['text', 'slots that are taken, and until when'],
    },
  },
  sync_keys: {
    note: 'When each key was last used, wherever its request budget is kept.',
    key: ['name'],
    columns: {
      name: ['key', 'fingerprint of the key'],
      used_at: ['integer', 'milliseconds since 1970, by the clock of the database'],
    },
  },
  sync_workers: {
    note: 'The workers that live, or lived until lately.',
    key: ['id'],
    columns: {
      id: ['key', 'UUID'],
      host: ['text', 'machine'],
      pid: ['integer', 'process'],
      process: ['text', 'tells the process from a later one of the same number'],
      queue: ['text', 'redis, postgres or embedded'],
      since: ['time', 'when it started'],
      beat_at: ['integer', 'last sign of life, in milliseconds since 1970'],
    },
  },
  webhook_deliveries: {
    note: 'What webhooks brought. Each is a hint about what to read again, and no source of rows; kept for 30 days.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'SHA-256 of the body, in hexadecimal digits'],
      received_at: ['time', 'when it came'],
      bytes: ['integer', 'size of the body'],
      body: ['text', 'the body as text; bytes that are no UTF-8 are shown as U+FFFD'],
      due_at: ['integer?', 'when to look after it, in milliseconds since 1970; null = that is done'],
      attempts: ['integer', 'how often it was taken up'],
      taken_at: ['time?', 'when it was done'],
      found: ['text?', 'what was read because of it'],
    },
  },
  service_behaviours: {
    note: 'What the service turned out to do, where its documentation is silent.',
    key: ['project_id', 'name'],
    columns: {
      ...projectColumns,
      name: ['key', 'what'],
      value: ['text', 'how'],
      evidence: ['text', 'why we think so'],
      learned_at: ['time', 'since when'],
    },
  },
  discovered_fields: {
    note: 'Fields that the service does not document, and the columns that hold them.',
    key: ['project_id', 'stream', 'path'],
    columns: {
      ...projectColumns,
      stream: ['key', 'the stream'],
      path: ['key', 'dotted path of the field in the row'],
      column_name: ['text?', "column of the stream's table; null = stays in raw only"],
      type: ['text', 'boolean, integer, number, timestamp, text or json'],
      first_seen_at: ['time', 'when'],
      fill_after: ['text?', 'how far the column has been filled from stored rows; null = wholly'],
    },
  },
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
}
type ColumnValue<T extends string> = T extends `${infer U extends ColumnType}?` ? TypeValues[U] | null : TypeValues[T & ColumnType]

/** The tables as kysely sees them. Integers beyond 2^53 are read as bigint all the same. */
export type DatabaseSchema = {
  [T in TableName]: {
    [C in keyof (typeof tables)[T]['columns']]: (typeof tables)[T]['columns'][C] extends readonly [infer S, string]
      ? ColumnValue<S & string>
      : never
  }
}
