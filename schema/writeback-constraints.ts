/**
 * People insert write-backs by plain SQL: what they leave out has a default, the rest is checked.
 */
import type { DatabaseKind } from './column-types.ts'
import {
  inList,
  type OperationSpec,
  operationSpecs,
  operationsOn,
  targetKinds,
  writebackStatuses,
} from './operation-specs.ts'

function columnClausesOf(
  kind: DatabaseKind,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
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
      operation: `check (operation ${inList(Object.keys(operationSpecs))})`,
      payload: `constraint payload_is_a_json_object check (${isObject})`,
      status: `default 'queued' check (status ${inList(writebackStatuses)})`,
      attempts: 'default 0 check (attempts >= 0)',
      created_at: now,
      seq: 'default 0',
      lane: "default ''",
      fencing_token: 'default 0',
      revoked_as: "check (revoked_as in ('cancelled','expired'))",
    },
    writeback_batches: { rows: 'default 0' },
    writeback_events: {
      id,
      at: now,
      to_status: `check (to_status ${inList(writebackStatuses)})`,
      seq: sqlite ? 'default 0' : "default nextval('writeback_events_seq')",
    },
  }
}

/** By table and column. */
export const columnClauses = {
  sqlite: columnClausesOf('sqlite'),
  postgres: columnClausesOf('postgres'),
} as const

/** The database's error message names the violated constraint, so the names read as sentences. */
export function tableClauses(kind: DatabaseKind): Readonly<Record<string, readonly string[]>> {
  const sqlite = kind === 'sqlite'
  const type = (field: string) =>
    sqlite ? `json_type(payload, '$.${field}')` : `jsonb_typeof(payload->'${field}')`
  const value = (field: string) =>
    sqlite ? `json_extract(payload, '$.${field}')` : `payload->>'${field}'`
  const [string, flag] = sqlite ? ["'text'", "('true','false')"] : ["'string'", "('boolean')"]
  const blank = sqlite ? 'char(9,10,13,32)' : "E' \\t\\n\\r'"
  const filled = (field: string, most: number) =>
    `${type(field)} = ${string} and length(${value(field)}) <= ${most}
      and ${sqlite ? 'trim' : 'btrim'}(${value(field)}, ${blank}) <> ''`
  const orNull = (field: string, most: number) =>
    `(${type(field)} is null or ${type(field)} = 'null' or (${filled(field, most)}))`
  const only = (fields: readonly string[]) =>
    sqlite
      ? `json_remove(payload, ${fields.map((field) => `'$.${field}'`).join(', ')}) = '{}'`
      : `payload - array[${fields.map((field) => `'${field}'`).join(', ')}] = '{}'::jsonb`
  const hex = (digits: number) => '[0-9a-fA-F]'.repeat(digits)
  const uuid = (column: string) =>
    sqlite
      ? `${column} glob '${[8, 4, 4, 4, 12].map(hex).join('-')}'`
      : `${column} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`
  const ofTargets = targetKinds.map((kind) => [
    `${operationsOn(kind).join('_and_')}_need_${kind}_id`,
    `operation not ${inList(operationsOn(kind))} or ${uuid(`${kind}_id`)}`,
  ])
  const ofPayloads = Object.entries<OperationSpec>(operationSpecs).map(
    ([operation, { payload }]) => {
      const fields = Object.entries(payload)
      const required = fields.filter(([, spec]) => spec === 'flag' || spec.isOptional !== true)
      const named = (required.length > 0 ? required : fields).map(([field, spec]) =>
        spec === 'flag' ? 'true_or_false' : field,
      )
      const oneIsGiven = `(${fields.map(([field]) => `${type(field)} is not null`).join(' or ')})`
      const each = fields.map(([field, spec]) => {
        if (spec === 'flag') return `${type(field)} in ${flag}`
        return spec.isOptional ? orNull(field, spec.maxLength) : filled(field, spec.maxLength)
      })
      const rule = [
        ...(required.length > 0 ? [] : [oneIsGiven]),
        ...each,
        only(Object.keys(payload)),
      ].join(' and ')
      return [
        `${operation}_needs_${named.join(required.length > 0 ? '_and_' : '_or_')}`,
        `operation <> '${operation}' or (${rule})`,
      ]
    },
  )
  // `is true`: a check that evaluates to null would accept the row.
  const checks = [...ofTargets, ...ofPayloads].map(
    ([name, rule]) => `constraint ${name} check ((${rule}) is true)`,
  )
  return { writebacks: checks }
}
