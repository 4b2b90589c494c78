/** A value of a row as the parameter that a column of its type takes. */
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'
import type { Scalar } from '../../values/json.ts'
import { isNormalizedTime, parseTime, rfc3339 } from '../../values/time.ts'
import { encodeJson, encodeText } from '../../warehouse/escape.ts'

export type SqlValue = string | number | bigint | null | boolean

type Value = NonNullable<SqlValue>

/**
 * A value of another type is converted, or becomes null; `raw` keeps the original. `onEscaped`:
 * called if the database can store a string only in another form.
 */
export function encodeValue(
  kind: DatabaseKind,
  type: ColumnType,
  value: Scalar | undefined,
  onEscaped: () => void = () => {},
): SqlValue {
  if (value === null || value === undefined) return null
  switch (type) {
    case 'key':
    case 'text':
    case 'uuid':
    case 'json': {
      const text = String(value)
      const stored = type === 'json' ? encodeJson(kind, text) : encodeText(kind, text)
      if (stored !== text) onEscaped()
      return stored
    }
    case 'integer':
    case 'int32':
      return toInteger(value)
    case 'number':
      return toNumber(value)
    case 'boolean':
      return toBoolean(kind, value)
    case 'time':
    case 'utc_time':
      return toTime(value)
    case 'date':
    case 'local_date':
      return typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : null
  }
}

export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}

function toInteger(value: Value): SqlValue {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value
    return Number.isInteger(value) && isInt64(BigInt(value)) ? BigInt(value) : null
  }
  if (typeof value === 'boolean' || (typeof value === 'string' && !/^-?\d{1,19}$/.test(value)))
    return null
  const integer = BigInt(value)
  return isInt64(integer) ? integer : null
}

function toNumber(value: Value): SqlValue {
  if (typeof value === 'boolean' || (typeof value === 'string' && value.trim() === '')) return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

function toBoolean(kind: DatabaseKind, value: Value): SqlValue {
  const isTrue = ['true', '1'].includes(String(value))
  if (!isTrue && !['false', '0'].includes(String(value))) return null
  return kind === 'sqlite' ? Number(isTrue) : isTrue
}

/** The times that both databases can store and RFC 3339 can express. */
const minTime = parseTime('0001-01-01T00:00:00Z') ?? 0
const maxTime = parseTime('9999-12-31T23:59:59Z') ?? 0

/** Null: not a time, or one that the databases do not store. */
export function toTime(value: Value): SqlValue {
  if (typeof value !== 'string') return null
  if (isNormalizedTime(value)) return value
  const at = parseTime(value)
  return at === undefined || at < minTime || at > maxTime ? null : rfc3339(at)
}
