/** Types of undocumented fields: the type of a value, and the type that fits values of two types. */
import type { ColumnType } from '../../../schema/column-types.ts'
import type { ExtraField } from '../../core/row.ts'
import { parseTime } from '../../core/time.ts'
import { isInt64 } from '../mirror/encode-value.ts'

export type FieldType = 'boolean' | 'integer' | 'number' | 'timestamp' | 'text' | 'json'

export const columnTypeOf: Readonly<Record<FieldType, ColumnType>> = {
  boolean: 'boolean',
  integer: 'integer',
  number: 'number',
  timestamp: 'time',
  text: 'text',
  json: 'json',
}

/** Null for a null value, which has no type. An integer that does not fit into 64 bits is text. */
export function fieldTypeOf({ value, isJsonText }: ExtraField): FieldType | null {
  if (value === null) return null
  if (isJsonText) return 'json'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'bigint') return isInt64(value) ? 'integer' : 'text'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  return parseTime(value) === undefined ? 'text' : 'timestamp'
}

/** The narrowest type that fits values of both. */
export function widerType(a: FieldType, b: FieldType): FieldType {
  if (a === b) return a
  const numeric = (type: FieldType) => type === 'integer' || type === 'number'
  return numeric(a) && numeric(b) ? 'number' : 'text'
}

/** Whether a column of the type can store the value unchanged. */
export function canHold(type: FieldType, extra: ExtraField): boolean {
  if (type === 'text' || extra.value === null) return true
  const own = fieldTypeOf(extra)
  return own === null || widerType(type, own) === type
}
