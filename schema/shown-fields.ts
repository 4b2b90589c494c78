/** SQL expressions for what the mirror shows of the fields that write-backs set. `row`: the prefix of the columns of its table. */
import type { DatabaseKind } from './column-types.ts'
import { type FieldSpec, type TargetKind, targetFields } from './operation-specs.ts'

const fields = Object.entries<FieldSpec>(targetFields)

export function shownSql(kind: DatabaseKind, { column, shownAs }: FieldSpec, row: string): string {
  if (column !== undefined) return `${row}${column}`
  return kind === 'sqlite'
    ? `${row}raw ->> '${shownAs}'`
    : `pg_catalog.jsonb_extract_path_text(${row}raw, '${shownAs}')`
}

/** The fields of a target, by the service's names. */
export function shownColumns(kind: DatabaseKind, target: TargetKind, row = ''): string {
  const own = fields.filter(([, field]) => field.target === target)
  return own.map(([, field]) => `${shownSql(kind, field, row)} as "${field.shownAs}"`).join(', ')
}

/** The column `seen`: guards compare the service with it. */
export function snapshotSql(kind: DatabaseKind, target: TargetKind, row = ''): string {
  const object = kind === 'sqlite' ? 'json_object' : 'pg_catalog.jsonb_build_object'
  const at =
    kind === 'sqlite'
      ? `${row}last_message_at`
      : `pg_catalog.to_char(${row}last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
  const texts = fields.filter(([, field]) => field.target === target && field.flagWords === undefined)
  const members = texts.map(([name, field]) => `'${name}', ${shownSql(kind, field, row)}`)
  return `${object}(${[...(target === 'conversation' ? [`'last_message_at', ${at}`] : []), ...members].join(', ')})`
}
