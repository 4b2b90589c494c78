/** The tables of audits: random samples of the mirror that were read again. */
import { projectColumns, type TableSpec } from './table-spec.ts'

export const auditTables = {
  sync_audits: {
    note: 'Audits: random samples of rows that were read again with their children, and compared.',
    key: ['project_id', 'id'],
    columns: {
      ...projectColumns,
      id: ['key', 'UUID, ascending with time'],
      stream: ['key', 'conversations or visitors'],
      started_at: ['time', 'when the sample was drawn'],
      finished_at: ['time?', 'when it ended; null while it runs'],
      population: ['integer', 'rows that could be drawn'],
      drawn: ['integer', 'rows that were drawn'],
      compared: ['integer', 'rows that were read again and compared'],
      differing: ['integer', 'rows that differed, and that no sync corrected in time'],
      gone: ['integer', 'rows that the service no longer had'],
      unreadable: ['integer', 'rows that could not be read'],
      requests: ['integer', 'requests sent'],
      took_ms: ['integer', 'time spent, in milliseconds'],
      synced_at: ['time?', 'when the sync that followed the first comparison ended; null = not yet, or not needed'],
    },
  },
  sync_audit_rows: {
    note: 'Rows that an audit drew. When it has finished, only those that differed are kept.',
    key: ['project_id', 'audit_id', 'row_id'],
    columns: {
      ...projectColumns,
      audit_id: ['key', 'the audit, in sync_audits'],
      row_id: ['key', 'the conversation or visitor'],
      position: ['integer', 'its place in the random order in which they are read'],
      state: ['key', 'drawn, suspected, equal, differing, gone or unreadable'],
      differences: ['json?', 'what differs: stream, key, kind, fields, and a hash of the stored row; never a value'],
    },
  },
} as const satisfies Record<string, TableSpec>
