/**
 * Defaults and checks of the tables of write-backs. People insert rows by plain SQL: what they leave out has a default, and
 * invalid rows are rejected.
 */
import type { DatabaseKind } from './column-types.ts'

type Clauses<T> = Readonly<Record<string, T>>

const statuses = "'draft','queued','sending','succeeded','failed','conflict','uncertain','cancelled','expired'"

export function columnClauses(kind: DatabaseKind): Clauses<Clauses<string>> {
  const sqlite = kind === 'sqlite'
  const id = `default (${sqlite ? 'lower(hex(randomblob(16)))' : 'gen_random_uuid()::text'})`
  const now = sqlite ? "default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))" : 'default now()'
  const isObject = sqlite
    ? "case when json_valid(payload) then json_type(payload) = 'object' else 0 end"
    : "jsonb_typeof(payload) = 'object'"
  return {
    writebacks: {
      project_id: "default ''",
      id,
      operation: "check (operation in ('message','handled','visitor','note'))",
      payload: `constraint payload_is_a_json_object check (${isObject})`,
      status: `default 'queued' check (status in (${statuses}))`,
      attempts: 'default 0 check (attempts >= 0)',
      created_at: now,
      seq: 'default 0',
      lane: "default ''",
      epoch: 'default 0',
      revoked_as: "check (revoked_as in ('cancelled','expired'))",
    },
    writeback_batches: { rows: 'default 0' },
    writeback_events: {
      id,
      at: now,
      to_status: `check (to_status in (${statuses}))`,
      seq: sqlite ? 'default 0' : "default nextval('writeback_events_seq')",
    },
  }
}

/** The database's error message names the violated constraint, so the names read as sentences. */
export function tableClauses(kind: DatabaseKind): Clauses<readonly string[]> {
  const sqlite = kind === 'sqlite'
  const type = (field: string) => (sqlite ? `json_type(payload, '$.${field}')` : `jsonb_typeof(payload->'${field}')`)
  const value = (field: string) => (sqlite ? `json_extract(payload, '$.${field}')` : `payload->>'${field}'`)
  const [string, flag] = sqlite ? ["'text'", "('true','false')"] : ["'string'", "('boolean')"]
  const blank = sqlite ? 'char(9,10,13,32)' : "E' \\t\\n\\r'"
  const filled = (field: string, most: number) =>
    `${type(field)} = ${string} and length(${value(field)}) <= ${most} and ${sqlite ? 'trim' : 'btrim'}(${value(field)}, ${blank}) <> ''`
  const orNull = (field: string, most: number) =>
    `(${type(field)} is null or ${type(field)} = 'null' or (${filled(field, most)}))`
  const only = (...fields: string[]) =>
    sqlite
      ? `json_remove(payload, ${fields.map((field) => `'$.${field}'`).join(', ')}) = '{}'`
      : `payload - array[${fields.map((field) => `'${field}'`).join(', ')}] = '{}'::jsonb`
  const hex = (digits: number) => '[0-9a-fA-F]'.repeat(digits)
  const uuid = (column: string) =>
    sqlite
      ? `${column} glob '${[8, 4, 4, 4, 12].map(hex).join('-')}'`
      : `${column} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`
  const rules: Clauses<string> = {
    message_and_handled_need_conversation_id: `operation not in ('message','handled') or ${uuid('conversation_id')}`,
    visitor_and_note_need_visitor_id: `operation not in ('visitor','note') or ${uuid('visitor_id')}`,
    message_needs_content_and_sender_name: `operation <> 'message' or (${filled('content', 20_000)}
      and ${filled('sender_name', 300)} and ${only('content', 'sender_name')})`,
    handled_needs_true_or_false: `operation <> 'handled' or (${type('handled')} in ${flag} and ${only('handled')})`,
    note_needs_content: `operation <> 'note' or (${filled('content', 20_000)} and ${only('content')})`,
    visitor_needs_name_or_email: `operation <> 'visitor' or ((${type('name')} is not null or ${type('email')} is not null)
      and ${orNull('name', 300)} and ${orNull('email', 320)} and ${only('name', 'email')})`,
  }
  // `is true`: a check that evaluates to null would accept the row.
  const checks = Object.entries(rules).map(([name, rule]) => `constraint ${name} check ((${rule}) is true)`)
  return { writebacks: checks }
}
