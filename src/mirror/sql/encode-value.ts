/**
 * Encodes values of the service as SQL parameters. A value of another type than the column's is converted, or becomes
 * null; `raw` keeps the original.
 */
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'
import type { Scalar } from '../../values/json.ts'
import { isNormalizedTime, parseTime, rfc3339 } from '../../values/time.ts'
import { encodeJson, encodeText, isStorable } from '../../warehouse/escape.ts'

export type SqlValue = string | number | bigint | null | boolean

/** The parameters of one row, in the order of its insert plan. */
export type EncodedRow = readonly SqlValue[]

/** How many strings had to be escaped so far. */
export type EscapeCount = { escaped: number }

export type EncodeValue = (value: Scalar | undefined) => SqlValue

export function createValueEncoder(type: ColumnType, kind: DatabaseKind, escapeCount: EscapeCount): EncodeValue {
  const encode = encoderFactories[type](kind, escapeCount)
  return (value) => (value === null || value === undefined ? null : encode(value))
}

type EncoderFactory = (
  kind: DatabaseKind,
  escapeCount: EscapeCount,
) => (value: string | number | bigint | boolean) => SqlValue

const encoderFactories: Readonly<Record<ColumnType, EncoderFactory>> = {
  key: toText,
  text: toText,
  integer: () => toInteger,
  number: () => toNumber,
  boolean: (kind) => (value) => toBoolean(value, kind),
  time: () => toTime,
  date: () => toDate,
  int32: () => toInteger,
  uuid: toText,
  utc_time: () => toTime,
  local_date: () => toDate,
  json: (kind, escapeCount) => (value) => {
    const json = typeof value === 'string' ? value : String(value)
    const stored = encodeJson(kind, json)
    if (stored !== json) escapeCount.escaped++
    return stored
  },
}

function toText(kind: DatabaseKind, escapeCount: EscapeCount) {
  return (value: string | number | bigint | boolean): SqlValue => {
    const text = typeof value === 'string' ? value : String(value)
    if (isStorable(kind, text)) return text
    escapeCount.escaped++
    return encodeText(kind, text)
  }
}

/** Whether it fits into 64 bits, as both databases' integers have. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}

function toInteger(value: string | number | bigint | boolean): SqlValue {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value
    return Number.isInteger(value) && isInt64(BigInt(value)) ? BigInt(value) : null
  }
  if (typeof value === 'boolean' || (typeof value === 'string' && !/^-?\d{1,19}$/.test(value))) return null
  const integer = BigInt(value)
  return isInt64(integer) ? integer : null
}

function toNumber(value: string | number | bigint | boolean): SqlValue {
  if (typeof value === 'boolean' || (typeof value === 'string' && value.trim() === '')) return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

function toBoolean(value: string | number | bigint | boolean, kind: DatabaseKind): SqlValue {
  const known = value === true || value === false ? value : booleanTexts.get(String(value))
  if (known === undefined) return null
  return kind === 'sqlite' ? Number(known) : known
}

const booleanTexts: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
])

/** The times that both databases can store and RFC 3339 can express. */
const [minTime, maxTime] = [parseTime('0001-01-01T00:00:00Z') ?? 0, parseTime('9999-12-31T23:59:59Z') ?? 0]

/** Null: not a time, or one that the databases do not store. */
export function toTime(value: string | number | bigint | boolean): SqlValue {
  if (typeof value !== 'string') return null
  if (isNormalizedTime(value)) return value
  const at = parseTime(value)
  return at === undefined || at < minTime || at > maxTime ? null : rfc3339(at)
}

function toDate(value: string | number | bigint | boolean): SqlValue {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : null
}
