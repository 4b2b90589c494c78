/** Types of undocumented fields: what a value is, and what holds two kinds of values. */
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

/** Null says nothing about a type. An integer that no database column can hold is text. */
export function fieldTypeOf({ value, isJsonText: json }: ExtraField): FieldType | null {
  if (value === null) return null
  if (json) return 'json'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'bigint') return isInt64(value) ? 'integer' : 'text'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  return parseTime(value) === undefined ? 'text' : 'timestamp'
}

/** The narrowest type that holds values of both. */
export function widerType(a: FieldType, b: FieldType): FieldType {
  if (a === b) return a
  const numeric = (type: FieldType) => type === 'integer' || type === 'number'
  return numeric(a) && numeric(b) ? 'number' : 'text'
}

/** Whether a column of the type holds the value as it is. */
export function canHold(type: FieldType, extra: ExtraField): boolean {
  if (type === 'text' || extra.value === null) return true
  const own = fieldTypeOf(extra)
  return own === null || widerType(type, own) === type
}
