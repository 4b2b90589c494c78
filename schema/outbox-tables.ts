/** The tables of the outbox: the queue of write-backs, and the log of each. */
import { projectColumns, type TableSpec } from './column-types.ts'
import { operationSpecs, operationsOn } from './operation-specs.ts'

const described = Object.entries(operationSpecs)
const listAll = (names: readonly string[]) => new Intl.ListFormat('en-GB').format(names)
const listAny = (names: readonly string[]) =>
  new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(names)

/** Besides operation, target and payload: columns of CSV, too. */
export const commonColumns = {
  ref: ['text?', 'your own key, or else the id: the same key is never queued twice'],
  expect: ['text?', 'the last message that the person saw: its id or its time'],
  expires_at: ['time?', 'it is not sent after this time'],
} as const satisfies TableSpec['columns']

export const outboxTables = {
  writebacks: {
    note:
      'The queue of changes to send to the service. Inserting a row with operation, target ' +
      'and payload queues a write-back.',
    key: ['project_id', 'id'],
    source: 'write-backs',
    columns: {
      project_id: [
        'key',
        'the project that the row belongs to; with a single project it can be left out',
      ],
      id: ['key', 'has a default'],
      operation: ['text', listAny(Object.keys(operationSpecs))],
      conversation_id: ['text?', `target of ${listAll(operationsOn('conversation'))}`],
      visitor_id: ['text?', `target of ${listAll(operationsOn('visitor'))}`],
      payload: [
        'json',
        `what to send: ${described.map(([, { payload }]) => listAll(Object.keys(payload))).join('; ')}`,
      ],
      status: [
        'text',
        'draft, queued, sending, succeeded, failed, conflict, uncertain, cancelled or expired; ' +
          'rows covered by an unfinished row of writeback_cancellations count as cancelled',
      ],
      attempts: ['integer', 'how often it was sent'],
      batch_id: ['text?', 'the import that created it'],
      source_row: [
        'integer?',
        'its row in the imported file, as a spreadsheet numbers it: the header is row 1',
      ],
      found_by: [
        'text?',
        'the address or name of the visitor by which its conversation was found; null = it ' +
          'was named by its id',
      ],
      ...commonColumns,
      created_at: ['time', 'has a default'],
      created_by: ['text?', 'who queued it'],
      sent_at: ['time?', 'when it was last sent'],
      finished_at: ['time?', 'when its outcome was settled'],
      request_id: ['text?', "request id of the service's last response, to quote to its support"],
      error: [
        'text?',
        'why it did not succeed, or what the service showed although it had accepted it',
      ],
      evidence: ['json?', 'what its outcome was concluded from'],
      reason: ['text?', 'why it is in this status'],
      message_id: ['text?', 'id of the message in the service that this reply became'],
      target_snapshot: [
        'json?',
        'what the mirror showed of its target when it was queued; null ' +
          '= the target was not mirrored',
      ],
      seq: ['integer', 'its place in the queue'],
      lane: [
        'key',
        'its conversation or visitor: write-backs of one lane are sent one after the other',
      ],
      fencing_token: [
        'integer',
        'grows with each claim, so that a process that has lost its claim cannot change the row',
      ],
      owner: ['text?', 'the process that has claimed it'],
      lease_until: ['integer?', 'until when the claim is valid, in milliseconds since 1970'],
      due_at: ['integer?', 'it is not claimed before this time, in milliseconds since 1970'],
      postponed: [
        'integer?',
        '1 = it was tried and waits for another attempt; null = ' +
          'nothing has kept it from being sent',
      ],
      revoked_as: [
        'text?',
        'cancelled or expired: decided while it was being sent; it is not sent again, and ' +
          'gets this status if it did not arrive',
      ],
      approved_by: ['text?', 'who approved it; null = it needed no approval, or waits for it'],
      undo_until: [
        'integer?',
        'until when `writeback undo` undoes its approval, in milliseconds since 1970',
      ],
      decided_by: ['text?', 'who made the last decision about it'],
      decided_at: ['integer?', 'when that was, in milliseconds since 1970'],
      stopped_by: ['text?', 'who stopped its batch; set while it is a draft for that reason'],
      erased_at: [
        'time?',
        'when its words, its evidence and its log were deleted; it is never sent again',
      ],
    },
  },
  sync_sends: {
    note:
      'How often each project has sent write-backs. The number is also kept outside of the ' +
      'database, so that a restored backup is noticed.',
    key: ['project_id'],
    notMoved: 'taken over by a statement, which counts the move as a send',
    columns: {
      project_id: ['key', 'the project; empty = the row that projects take their token from'],
      token: ['text', 'names the number outside of the database; a new one after each restore'],
      sends: ['integer', 'grows with each send since the token is in use'],
      held_at: [
        'integer?',
        'since when nothing is sent, in milliseconds since 1970; null = sending is not held',
      ],
      held_why: ['text?', 'why nothing is sent'],
      resumed_at: [
        'integer?',
        'when a person last let it send again after that, in milliseconds since 1970',
      ],
    },
  },
  writeback_batches: {
    note:
      'The batches: write-backs that were queued together, by an import ' +
      'or with a `batch_id` of your own.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'its name: `batch_id` of its write-backs'],
      title: ['text?', 'what it is, in the words of the person who queued it'],
      source: ['text?', 'where its rows come from, such as the name of a file'],
      note: ['text?', 'what the next person should know'],
      column_map: [
        'text?',
        'as JSON, what a person said that columns of its file mean; ' +
          'later files with these are read alike',
      ],
      rows: ['integer', 'how many write-backs it has'],
      created_at: ['time', 'when it was queued'],
      created_by: ['text?', 'who queued it'],
      approved_at: ['time?', 'when rows of it were last approved'],
      approved_by: ['text?', 'who approved them'],
      stopped_at: [
        'time?',
        'when it was stopped; null = it is not. Nothing of a stopped batch is sent',
      ],
      stopped_by: ['text?', 'who stopped it'],
      reverts: ['text?', 'the batch that it takes back'],
      finished_at: [
        'time?',
        'when its last write-back was settled; null = one is open. A worker or a push sets ' +
          'it shortly afterwards',
      ],
      done_to: [
        'integer?',
        'up to which place in the queue its rows have followed its last stop or ' +
          'resumption; null = all have',
      ],
      done_by: ['text?', 'who decided that stop or resumption'],
    },
  },
  writeback_cancellations: {
    note:
      'Cancellations of a whole batch, or of everything. Each takes effect at once; the rows ' +
      'are updated afterwards.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      batch_id: ['text?', 'the batch; null = everything'],
      includes_rows_without_project: ['integer', '1 = also these, if there is a single project'],
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
    source: 'write-backs',
    columns: {
      ...projectColumns,
      id: ['key', 'has a default'],
      writeback_id: ['key', 'the write-back'],
      at: ['time', 'when it happened'],
      from_status: ['text?', 'status before; null = it was created'],
      to_status: ['text', 'status after'],
      detail: ['text?', 'why'],
      person: ['text?', 'who decided it; null = no person did'],
      request_id: ['text?', "request id of the service's response, to quote to its support"],
      seq: ['integer', 'its place in the log'],
    },
  },
} as const satisfies Record<string, TableSpec>
