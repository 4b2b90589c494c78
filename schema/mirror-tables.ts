/** What the service has, and what changed in it from one sync to the next. */
import { type ColumnSpec, projectColumns, type TableSpec } from './column-types.ts'
import { type ListStreamName, listStreamNames, streamSpecs } from './stream-specs.ts'

/** Likely names of undocumented fields with the id of a visitor or a conversation, best first. */
const likelyIdFields = {
  visitors: ['visitorId', 'visitor_id', 'visitor.id'],
  conversations: ['conversationId', 'conversation_id', 'conversation.id'],
} as const

/** Where calls may hold what views show of them, tried in this order. */
export const likelyCallFields = {
  visitor: likelyIdFields.visitors,
  ended: ['endedAt', 'ended_at', 'endTime'],
  outcome: ['outcome', 'status', 'result'],
  duration: ['durationSeconds', 'duration_seconds'],
  direction: ['direction', 'callDirection'],
  agent: ['agentName', 'agent_name', 'agent.name', 'agentId', 'agent_id', 'agent.id'],
} as const

const likelyFields = (list: keyof typeof likelyIdFields) =>
  Object.fromEntries(likelyIdFields[list].map((path) => [`raw.${path}`, list]))

type MirrorTableSpec = TableSpec & {
  /**
   * Where ids of a person, or of what is theirs, stand: the rows are erased with them, and refused
   * from then on. `raw[call_fields.visitor]`: the field of this setting. `raw[*visitors]`: any field
   * with a UUID.
   */
  readonly erasedWith: Readonly<Record<string, ListStreamName>>
}

const mirroredColumns = {
  ...projectColumns,
  raw: ['json', 'the row as the service sent it'],
  synced_at: ['time', 'when the stored copy was requested from the service'],
  run_id: ['text?', 'the sync run that stored it, in sync_runs'],
  asked_at: [
    'integer',
    'synced_at in milliseconds since 1970: an older copy never replaces a newer one',
  ],
} as const
/** Of what the service can lose. */
const rowColumns = {
  ...mirroredColumns,
  deleted_at: ['time?', 'when the service was found to no longer have it; null while it exists'],
} as const
/** Of a list, whose former versions the setting `history` keeps. */
const listColumns = {
  ...rowColumns,
  unchanged_since: [
    'time?',
    'when this version was first read, if later copies moved its times only; null = synced_at',
  ],
} as const
/** In the project's time zone. Windows of a project never overlap, and are days of one zone. */
const dayColumns = {
  window_from: ['time', 'start of the day'],
  window_to: ['time', 'end of the day, which is the start of the next'],
  day: ['date', 'the local date'],
  time_zone: [
    'text',
    'the time zone of the days (DESKMIRROR_TIME_ZONE): the same for all rows of a project',
  ],
} as const

const messageColumns = {
  ...rowColumns,
  conversation_id: ['key', 'the conversation, in conversations'],
  id: ['integer', 'id of the message in the service'],
  sender_type: ['text?', 'who wrote it: agent or another value'],
  kind: ['text?', 'utterance = written by a person or the AI; anything else is a system event'],
  content: ['text?', 'the text'],
  sender_display_name: ['text?', 'the name that the visitor saw'],
  created_at: ['time?', 'when it was written'],
} as const

export const mirrorTables = {
  conversations: {
    note: 'Conversations with visitors. Open work is handled_at is null; status is always open.',
    key: ['project_id', 'id'],
    erasedWith: { id: 'conversations', visitor_id: 'visitors' },
    columns: {
      ...listColumns,
      id: ['key', 'UUID'],
      visitor_id: ['text?', 'the visitor, in visitors'],
      status: ['text?', 'always open'],
      created_at: ['time?', 'when it started'],
      last_message_at: ['time?', 'when its last message was written'],
      last_message_sender_type: ['text?', 'who wrote it: agent or another value'],
      handled_at: ['time?', 'when it was marked handled; null = open work'],
      waiting_since: [
        'time?',
        'since when the visitor waits, by the service, which does not document when it ' +
          'changes; ours: report_open',
      ],
      assigned_agent_id: ['text?', 'the agent to whom it is assigned'],
      origin: ['text?', 'how it started: visitor_initiated or another value'],
      messages_complete: [
        'boolean?',
        'false = the service did not list all of its messages; null = not read yet',
      ],
    },
  },
  messages: {
    note:
      'Messages of the conversations, including system events (kind is not utterance). A ' +
      'view of message_rows.',
    key: ['project_id', 'conversation_id', 'id'],
    storedIn: 'message_rows',
    erasedWith: { conversation_id: 'conversations' },
    columns: messageColumns,
  },
  message_rows: {
    note: 'What is stored of messages: read messages instead.',
    key: ['project_id', 'conversation_id', 'id'],
    notInLake: 'it is read as messages',
    erasedWith: { conversation_id: 'conversations' },
    columns: {
      ...messageColumns,
      run_id: ['uuid?', 'the sync run that stored it, in sync_runs'],
      raw: [
        'json?',
        'what the columns do not tell of the row as the service sent it; in a list = all ' +
          'of it; null, {} = nothing',
      ],
    },
  },
  visitors: {
    note: 'Visitor profiles. Undocumented fields get columns when they first appear.',
    key: ['project_id', 'id'],
    erasedWith: { id: 'visitors' },
    columns: {
      ...listColumns,
      id: ['key', 'UUID'],
      name: ['text?', 'null = not known, or blocked by `columns`'],
      email: ['text?', 'null = not known or blocked; `hmac:…` = only a hash is stored'],
    },
  },
  visitor_activity: {
    note:
      'What visitors did. An entry is identified by its id and its time, or else by its ' +
      'content, and by its number among equal ones.',
    key: ['project_id', 'visitor_id', 'entry_hash', 'ordinal'],
    erasedWith: { visitor_id: 'visitors' },
    columns: {
      ...rowColumns,
      visitor_id: ['key', 'the visitor, in visitors'],
      entry_hash: [
        'key',
        'hash of the id and the time of the entry; without one of them, of the whole entry',
      ],
      ordinal: [
        'integer',
        'number among entries with the same hash, in the order in which the service lists them',
      ],
      occurred_at: ['time?', 'when it happened'],
    },
  },
  calls: {
    note: 'Calls.',
    key: ['project_id', 'id'],
    // What a call says about its visitor and its conversation is not documented.
    erasedWith: {
      id: 'calls',
      ...likelyFields('visitors'),
      ...likelyFields('conversations'),
      'raw[call_fields.visitor]': 'visitors',
      'raw[*visitors]': 'visitors',
      'raw[*conversations]': 'conversations',
    },
    columns: {
      ...listColumns,
      id: ['key', 'id of the call in the service'],
      occurred_at: ['time?', 'when it started'],
    },
  },
  call_recordings: {
    note:
      'Whether calls have recordings, and what the service says about ' +
      'them; never a recording itself.',
    key: ['project_id', 'call_id'],
    erasedWith: { call_id: 'calls' },
    columns: {
      ...rowColumns,
      call_id: ['key', 'the call, in calls'],
      has_recording: ['boolean?', 'false = there is none so far'],
      read_at: ['time?', 'when the service was last asked for it'],
    },
  },
  analytics_rollups: {
    note:
      'The daily rollups of the service. A past day can still change: ' +
      'read_at says when each was last read.',
    key: ['project_id', 'window_from', 'window_to'],
    notInLake: 'its numbers are in analytics_metrics',
    erasedWith: {},
    columns: {
      ...mirroredColumns,
      ...dayColumns,
      read_at: ['time', 'when the service was last asked for it; later changes are not in it'],
    },
  },
  analytics_metrics: {
    note:
      'The numbers of the rollups, one per row. When each was last read: ' +
      'read_at in analytics_rollups.',
    key: ['project_id', 'window_from', 'window_to', 'metric'],
    erasedWith: {},
    columns: {
      ...projectColumns,
      ...dayColumns,
      metric: ['key', 'dotted path of the number within the rollup'],
      value: ['number', 'the number'],
    },
  },
  availability_snapshots: {
    note: 'Whether human agents were available, each time the service was asked.',
    key: ['project_id', 'read_at'],
    erasedWith: {},
    columns: {
      ...mirroredColumns,
      read_at: ['time', 'when the service was asked'],
      available: ['boolean?', 'whether any agent was available'],
      agents_online: ['integer?', 'how many agents were online'],
      same_until: [
        'time?',
        'of an earlier row that stands for equal ones: when the last of them was read',
      ],
      same_count: ['integer?', 'and how many they were; null = one'],
    },
  },
  conversation_changes: {
    note:
      'Changes of conversations from one sync to the next: a history ' +
      'that the service does not keep.',
    key: ['project_id', 'id'],
    erasedWith: { conversation_id: 'conversations' },
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      conversation_id: ['key', 'the conversation'],
      field: ['text', 'the column that changed'],
      old_value: ['text?', 'before'],
      new_value: ['text?', 'after'],
      seen_at: ['time', 'when a sync found the change'],
      old_read_at: [
        'time',
        'when the copy with the old value had been requested: the ' +
          'change came between then and seen_at',
      ],
    },
  },
} as const satisfies Record<string, MirrorTableSpec>

/** Columns of a version. The documented columns and `raw` have the rest of the row. */
const versionColumns = {
  ...projectColumns,
  id: ['key', 'the row'],
  valid_from: ['time', 'when it was first read'],
  valid_to: ['time', 'when the next version was first read, or the row was found deleted'],
  raw: ['json', 'its last copy, as the service sent it'],
  synced_at: [
    'time',
    'when that copy was requested: what ended the version came between then and valid_to',
  ],
} as const

/** Columns of a list that are not what a version of a row was. */
const ofPresent: readonly string[] = [...Object.keys(listColumns), 'id', 'messages_complete']

export const historyTable = (list: ListStreamName) => `${list}_history` as const

/** Rows that were replaced, of the lists that `history` names. */
export const historyTables = Object.fromEntries(
  listStreamNames.map((list): [string, MirrorTableSpec] => {
    const { columns, erasedWith } = mirrorTables[streamSpecs[list].table]
    const documented = Object.entries<ColumnSpec>(columns).filter(
      ([name]) => !ofPresent.includes(name),
    )
    const note =
      `Replaced versions of ${list}, kept while the setting history names them. Copies that differ ` +
      'only in what the last message was, or in times whose name (or that of a field around them) ' +
      'begins with last, latest, updated, modified or seen, are one version. Versions of one ' +
      'second are put a second apart.'
    const own = { ...versionColumns, ...Object.fromEntries(documented) }
    return [
      historyTable(list),
      { note, key: ['project_id', 'id', 'valid_from'], erasedWith, columns: own },
    ]
  }),
) as Readonly<Record<ReturnType<typeof historyTable>, MirrorTableSpec>>

export const hasDeletedAt = (table: keyof typeof mirrorTables): boolean =>
  'deleted_at' in mirrorTables[table].columns

type Tables = typeof mirrorTables
type Lists = (typeof streamSpecs)[ListStreamName]
type Ids<T extends keyof Tables> =
  | (keyof Tables[T]['columns'] & `${Lists['singular']}_id`)
  | (T extends Lists['table'] ? 'id' : never)

/** A table that has the id of a row of a list says so in `erasedWith`. */
const tables = mirrorTables satisfies {
  [T in keyof Tables]: { erasedWith: Record<Ids<T>, ListStreamName> }
}

export type ErasedId = {
  readonly column: string
  /**
   * Null: the column is the id. Else JSON has it: at a path, at that of `call_fields`, or anywhere.
   */
  readonly field: { readonly path: string } | { readonly setting: string } | 'any' | null
  readonly list: ListStreamName
}

const toId = ([name, list]: [string, ListStreamName]): ErasedId => {
  const [, path, setting] = /^raw(?:\.(.+)|\[call_fields\.(\w+)\]|\[\*\w+\])$/.exec(name) ?? []
  if (path !== undefined) return { column: 'raw', field: { path }, list }
  if (setting !== undefined) return { column: 'raw', field: { setting }, list }
  return name.startsWith('raw[')
    ? { column: 'raw', field: 'any', list }
    : { column: name, field: null, list }
}

export const erasedTables: Readonly<Record<string, readonly ErasedId[]>> = Object.fromEntries(
  Object.entries<MirrorTableSpec>({ ...tables, ...historyTables })
    .filter(
      ([, { erasedWith, storedIn }]) =>
        storedIn === undefined && Object.keys(erasedWith).length > 0,
    )
    .map(([table, { erasedWith }]) => [table, Object.entries(erasedWith).map(toId)]),
)
