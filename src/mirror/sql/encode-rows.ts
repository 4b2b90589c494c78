/** The rows of a page as SQL parameters by column, encoded for the database: one row for each key. */
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'
import type { MirrorRow, RejectedRow } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { type Scalar, stringifyJson } from '../../values/json.ts'
import { isNormalizedTime, parseTime, rfc3339, toTimestamp } from '../../values/time.ts'
import { encodeJson, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { MirrorCommit } from '../core/mirror.ts'
import type { StreamFields } from './discovered-columns/field-records.ts'
import { type InsertedColumn, streamTables } from './stream-tables.ts'

type SqlValue = string | number | bigint | null | boolean

export type EncodedRow = Readonly<Record<string, SqlValue>>

/** Rows whose key cannot be stored are in `rejectedRows`. `escaped`: how many strings are stored in another form. */
export type EncodedPage = {
  readonly columns: readonly InsertedColumn[]
  readonly rows: readonly EncodedRow[]
  readonly rejectedRows: readonly RejectedRow[]
  readonly escaped: number
}

/** `run`: the sync run that stores the rows. */
type EncodingContext = Pick<ProjectDb, 'kind' | 'project'> & { readonly run: { readonly id: string | null } }

/** Of two rows with the same key, the last one wins. `fields`: the discovered fields of the stream. */
export function encodePage(context: EncodingContext, page: MirrorCommit, fields: StreamFields): EncodedPage {
  const columns = [...streamTables[page.stream].columns, ...fields.columns]
  const byKey = new Map<string, EncodedRow>()
  const rejectedRows: RejectedRow[] = []
  let escaped = 0
  const onEscaped = () => {
    escaped++
  }
  for (const row of page.rows) {
    const encoded: Record<string, SqlValue> = {}
    for (const column of columns)
      encoded[column.name] = encodeValue(context.kind, column.type, readValue(context, page, row, column), onEscaped)
    const key = keyOf(page.stream, encoded)
    const tooLong = key.some(isTooLong) ? 'its id is too long' : null
    const why = key.includes(null) ? 'its key is missing or unreadable' : tooLong
    if (why === null) byKey.set(key.join('\n'), encoded)
    else rejectedRows.push({ id: row.columns.id === undefined ? null : String(row.columns.id), why })
  }
  return { columns, rows: [...byKey.values()], rejectedRows, escaped }
}

/** The parts of a row's key, without `project_id`. */
export function keyOf(stream: StreamName, row: EncodedRow): readonly SqlValue[] {
  return streamTables[stream].key.map((name) => row[name] ?? null)
}

/** The key of a row of a child list as a text, without the part that names its parent. */
export function childKeyOf(stream: StreamName, { columns }: MirrorRow): string {
  const [, ...key] = streamTables[stream].key
  const typeOf = (name: string) => streamTables[stream].columns.find((column) => column.name === name)?.type ?? 'text'
  return key.map((name) => String(encodeValue('sqlite', typeOf(name), columns[name]))).join('/')
}

/** A column's value in each row that has one. */
export function textsOf(rows: readonly EncodedRow[], column: string): string[] {
  return rows.flatMap((row) => textOf(row, column) ?? [])
}

/** A column's value. Texts and times are bound as the text that they are read as. */
export function textOf(row: EncodedRow, column: string): string | null {
  const value = row[column] ?? null
  return value === null ? null : String(value)
}

function readValue(
  { kind, project, run }: EncodingContext,
  { stream, requestedAt }: MirrorCommit,
  { columns, extraFields, item, storedRaw }: MirrorRow,
  { name, path }: InsertedColumn,
): Scalar | undefined {
  if (path !== undefined) return extraFields.get(path)?.value
  switch (name) {
    case 'project_id':
      return project
    case 'run_id':
      return run.id
    case 'asked_at':
      return requestedAt
    case 'synced_at':
      return toTimestamp(requestedAt)
    case 'read_at':
      return columns.read_at ?? toTimestamp(requestedAt)
    case 'raw':
      if (stream !== 'messages') return stringifyJson(item)
      // What `message_rows` has; see `schema/messages-view.ts`.
      if (storedRaw === undefined) return `[${stringifyJson(item)}]`
      return kind === 'postgres' && storedRaw === '{}' ? null : storedRaw
    default:
      return columns[name]
  }
}

/**
 * Bytes of one part of a key. Entries of Postgres's indexes have at most 2,704 bytes, all parts of the key together.
 * Source: its documentation, "B-Tree Indexes".
 */
const maxKeyBytes = 800

function isTooLong(part: SqlValue): boolean {
  return typeof part === 'string' && part.length > maxKeyBytes / 4 && Buffer.byteLength(part) > maxKeyBytes
}

type Value = NonNullable<SqlValue>

/**
 * A value of another type than the column's is converted, or becomes null; `raw` keeps the original. `onEscaped`: called if the database can store a string only in another form.
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

/** Whether it fits into 64 bits, as both databases' integers have. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}

function toInteger(value: Value): SqlValue {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value
    return Number.isInteger(value) && isInt64(BigInt(value)) ? BigInt(value) : null
  }
  if (typeof value === 'boolean' || (typeof value === 'string' && !/^-?\d{1,19}$/.test(value))) return null
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
const [minTime, maxTime] = [parseTime('0001-01-01T00:00:00Z') ?? 0, parseTime('9999-12-31T23:59:59Z') ?? 0]

/** Null: not a time, or one that the databases do not store. */
export function toTime(value: Value): SqlValue {
  if (typeof value !== 'string') return null
  if (isNormalizedTime(value)) return value
  const at = parseTime(value)
  return at === undefined || at < minTime || at > maxTime ? null : rfc3339(at)
}
