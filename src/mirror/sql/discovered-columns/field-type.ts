/** Types of undocumented fields: the type of a value, and the type that fits values of two types. */
import type { ColumnType } from '../../../../schema/column-types.ts'
import type { ExtraField } from '../../../../schema/row.ts'
import { isInt64, toTime } from '../encode-value.ts'

export type FieldType = 'boolean' | 'integer' | 'number' | 'timestamp' | 'text' | 'json'

export const columnTypeOf: Readonly<Record<FieldType, ColumnType>> = {
  boolean: 'boolean',
  integer: 'integer',
  number: 'number',
  timestamp: 'time',
  text: 'text',
  json: 'json',
}

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
