/** The column of an undocumented field: its name, its type, and the type that fits values of two types. */
import { hash } from 'node:crypto'
import type { FieldType } from '../../../../schema/column-types.ts'
import type { ExtraField } from '../../../values/field-path.ts'
import { isInt64, toTime } from '../encode-value.ts'

/** The type of a value. `int64`: an integer beyond 2^53, which a column of integers holds and one of numbers does not. */
export type ValueType = FieldType | 'int64'

/** Null for a null value, which has no type. An integer that does not fit into 64 bits is text, as is a time beyond years. */
export function fieldTypeOf({ value, isJsonText }: ExtraField): ValueType | null {
  if (value === null) return null
  if (isJsonText) return 'json'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'bigint') return isInt64(value) ? 'int64' : 'text'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  return toTime(value) === null ? 'text' : 'timestamp'
}

/** The narrowest type that fits values of both. */
export function widerType(a: ValueType, b: ValueType): ValueType {
  if (a === b) return a
  const both = [a, b]
  if (both.includes('integer') && both.includes('int64')) return 'int64'
  return both.includes('integer') && both.includes('number') ? 'number' : 'text'
}

/** The type of the column for values of this type. */
export function toFieldType(type: ValueType): FieldType {
  return type === 'int64' ? 'integer' : type
}

/** Whether a column of the type can store the value unchanged. */
export function canHold(type: FieldType, extra: ExtraField): boolean {
  const own = fieldTypeOf(extra)
  return type === 'text' || own === null || toFieldType(widerType(type, own)) === type
}

/** Postgres truncates identifiers to 63 bytes. Source: its documentation, "Identifiers and Key Words". */
const maxIdentifierBytes = 63

/** System columns that every table of one of the databases has. */
const systemColumns = ['oid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid', 'rowid', '_rowid_']

/** `customFields.plan` → `custom_fields__plan`. A name that is taken, or too long, ends in a hash of the path. */
export function columnName(path: string, taken: ReadonlySet<string>): string {
  const plain = path.split('.').map(toSnakeCase).join('__')
  if (plain.length <= maxIdentifierBytes && !taken.has(plain) && !systemColumns.includes(plain)) return plain
  for (let n = 0; ; n++) {
    const suffix = hash('sha256', n === 0 ? path : `${path} ${n}`).slice(0, 8)
    const name = `${plain.slice(0, maxIdentifierBytes - suffix.length - 1)}_${suffix}`
    if (!taken.has(name)) return name
  }
}

function toSnakeCase(segment: string): string {
  const words = segment
    .replace(/([a-z0-9])(?=[A-Z])/g, '$1_')
    .replace(/([A-Z])(?=[A-Z][a-z])/g, '$1_')
    .toLowerCase()
    .split(/[^a-z0-9]/)
  const name = words.filter((word) => word !== '').join('_')
  return name === '' ? 'field' : /^\d/.test(name) ? `f_${name}` : name
}
