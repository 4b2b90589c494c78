/** Converts what a database returns to the values of an export, which are the same for both. */
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { toCanonicalJson } from '../../core/canonical-json.ts'
import type { ExportColumn, ExportType, ExportValue } from '../../core/export.ts'
import { isNormalizedTime, parseTime, rfc3339 } from '../../core/time.ts'
import { UserError } from '../../core/user-error.ts'
import { decodeJson, encodeText } from '../database/escape.ts'

export type DecodeValue = (value: unknown) => ExportValue

/** Throws UserError for a value that its column's type cannot express, which only foreign tables of SQLite have. */
export function createValueDecoder(object: string, { name, type }: ExportColumn, kind: DatabaseKind): DecodeValue {
  const decode = decoders[type]
  return (value) => {
    if (value === null || value === undefined) return null
    const decoded = decode(value, kind)
    if (decoded === undefined) throw valueError(object, name, type)
    return decoded
  }
}

/** Undefined: the value is not of the type. */
const decoders: Readonly<Record<ExportType, (value: unknown, kind: DatabaseKind) => ExportValue | undefined>> = {
  text: toText,
  integer: (value) => {
    if (typeof value === 'bigint') return value
    return typeof value === 'number' && Number.isInteger(value) ? value : undefined
  },
  number: (value) => (typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined),
  boolean: (value) => {
    if (typeof value === 'boolean') return value
    return value === 0 || value === 1 ? value === 1 : undefined
  },
  time: toTime,
  date: (value) => (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined),
  json: (value, kind) => toCanonicalJson(decodeJson(kind, String(value))),
}

/** As Postgres stores it, which has no NUL. In SQLite a text may have one. */
function toText(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  const text = typeof value === 'string' ? value : String(value)
  return text.includes('\0') ? text.replaceAll('\0', encodeText('postgres', '\0')) : text
}

function toTime(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  if (isNormalizedTime(value)) return value
  // `2026-01-01 00:00:00`, without a zone: as SQLite's own functions write it, in UTC.
  const at = parseTime(value) ?? parseTime(`${value}Z`)
  return at === undefined ? undefined : rfc3339(at)
}

function valueError(object: string, column: string, type: ExportType): UserError {
  return new UserError({
    what: `cannot export ${object}`,
    why: `its column ${column} is declared as ${type} and has a value of another type`,
    next: 'correct the value, or leave the column out with --columns',
    exitCode: 2,
  })
}
