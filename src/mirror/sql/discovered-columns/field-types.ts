/** The types of undocumented fields: of a value, of several, and what a column of one holds. */
import type { FieldType } from '../../../../schema/column-types.ts'
import type { ExtraField } from '../../../values/field-path.ts'
import type { Scalar } from '../../../values/json.ts'
import { isInt64, toTime } from '../encode-value.ts'

/**
 * `int64`: an integer beyond 2^53, which a column of integers holds and one of numbers does not.
 */
export type ValueType = FieldType | 'int64'

/** Null for a null value. An integer beyond 64 bits is text, as is a time beyond years. */
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

export function toFieldType(type: ValueType): FieldType {
  return type === 'int64' ? 'integer' : type
}

/** Whether a column of the type can store the value unchanged. */
export function canHold(type: FieldType, extra: ExtraField): boolean {
  if (type === 'text') return true
  const own = fieldTypeOf(extra)
  return own === null || toFieldType(widerType(type, own)) === type
}

/** Null if the row has none or the column cannot hold it: no column says what the row does not. */
export function fittingValue(type: FieldType, extra: ExtraField | undefined): Scalar {
  return extra !== undefined && canHold(type, extra) ? extra.value : null
}
