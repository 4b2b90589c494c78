/** The tables of the console. */
import { projectColumns, type TableSpec } from './column-types.ts'

export const consoleTables = {
  console_events: {
    note:
      'The audit log of the console: who signed in, who decided what, and what assistants ' +
      'asked. Append-only; reading a page is not an event.',
    key: ['project_id', 'id'],
    columns: {
      project_id: ['key', 'the project; empty if it concerns none'],
      id: ['key', 'UUID, ascending with time'],
      at: ['time', 'when it happened'],
      person: ['text', 'who did it'],
      role: ['text', 'viewer, operator or approver, at that time; or assistant'],
      action: ['text', 'signed_in, sign_in_refused, signed_out, a decision, or assistant_asked'],
      subject: ['text?', 'what it was about, such as a batch'],
      count: ['integer?', 'how many rows it concerned'],
      detail: ['text?', 'the reason, and the digest of what the person had seen'],
    },
  },
  console_links: {
    note: 'One-time links to the console that have not been used yet.',
    key: ['code_hash'],
    columns: {
      code_hash: ['key', 'SHA-256 of the code in the link, in hexadecimal digits'],
      expires_at: ['integer', 'until when it can be used, in milliseconds since 1970'],
    },
  },
  console_ended_sessions: {
    note: 'Sessions of the console whose people signed out, until they would have ended anyway.',
    key: ['session_hash'],
    columns: {
      session_hash: ['key', 'SHA-256 of the cookie, in hexadecimal digits'],
      expires_at: ['integer', 'when it would have ended, in milliseconds since 1970'],
    },
  },
  budget_minutes: {
    note:
      'Requests to the service by the minute and by priority, for 90 ' +
      'days: where the request budget goes.',
    key: ['project_id', 'minute', 'priority'],
    columns: {
      ...projectColumns,
      minute: ['time', 'the minute'],
      priority: ['key', 'write, fresh, backfill or reconcile: the most urgent first'],
      requests: ['integer', 'requests that got a response or were given up'],
      throttled: ['integer', 'of these, answered by 429'],
    },
  },
  budget_pauses: {
    note: 'When no request was sent although some may have waited; kept for 90 days.',
    key: ['project_id', 'kind', 'from_ms'],
    columns: {
      ...projectColumns,
      kind: ['key', 'throttled: after a 429; closed: past use was not known'],
      from_ms: ['integer', 'from when, in milliseconds since 1970'],
      to_ms: ['integer', 'until when, in milliseconds since 1970'],
    },
  },
  search_conversations: {
    note:
      'The conversations whose words can be searched. With search_words it is an index: a ' +
      'rebuild of the facts fills both.',
    key: ['project_id', 'conversation_id'],
    source: 'derived',
    notMoved: 'an index, which a rebuild of the facts fills',
    columns: {
      ...projectColumns,
      conversation_id: ['key', 'the conversation'],
      id: ['integer', 'its number in search_words, ascending with the time of its last message'],
    },
  },
} as const satisfies Record<string, TableSpec>

/** Virtual in SQLite, with tables of its own; with a GIN index in Postgres. */
export const searchIndexTable = 'search_words'
