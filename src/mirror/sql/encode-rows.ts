/** The rows of a page as SQL parameters by column: one row for each key. */
import type { MirrorRow, RejectedRow } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { type Scalar, stringifyJson } from '../../values/json.ts'
import { toTimestamp } from '../../values/time.ts'
import type { MirrorCommit } from '../core/mirror.ts'
import type { StreamFields } from './discovered-columns/field-records.ts'
import { fittingValue } from './discovered-columns/field-types.ts'
import { encodeValue, type SqlValue } from './encode-value.ts'
import { type InsertedColumn, streamTables } from './stream-tables.ts'
import type { ProjectContext } from './sync-runs.ts'

export type EncodedRow = Readonly<Record<string, SqlValue>>

/**
 * Of two rows with the same key, the last one wins. `fields`: the discovered ones. `rejectedRows`:
 * their key cannot be stored. `escaped`: strings that are stored in another form.
 */
export function encodePage(context: ProjectContext, page: MirrorCommit, fields: StreamFields) {
  const columns: readonly InsertedColumn[] = [
    ...streamTables[page.stream].columns,
    ...fields.columns,
  ]
  const byKey = new Map<string, EncodedRow>()
  const rejectedRows: RejectedRow[] = []
  let escaped = 0
  const onEscaped = () => {
    escaped++
  }
  for (const row of page.rows) {
    const encoded: Record<string, SqlValue> = {}
    for (const column of columns)
      encoded[column.name] = encodeValue(
        context.kind,
        column.type,
        readValue(context, page, row, column),
        onEscaped,
      )
    const key = keyOf(page.stream, encoded)
    const tooLong = key.some(isTooLong) ? 'its id is too long' : null
    const why = key.includes(null) ? 'its key is missing or unreadable' : tooLong
    if (why === null) byKey.set(key.join('\n'), encoded)
    else
      rejectedRows.push({ id: row.columns.id === undefined ? null : String(row.columns.id), why })
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
  const typeOf = (name: string) =>
    streamTables[stream].columns.find((column) => column.name === name)?.type ?? 'text'
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
  { kind, project, run }: ProjectContext,
  { stream, requestedAt }: MirrorCommit,
  { columns, extraFields, item, storedRaw }: MirrorRow,
  { name, field }: InsertedColumn,
): Scalar | undefined {
  if (field !== undefined) return fittingValue(field.type, extraFields.get(field.path))
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
 * Bytes of one part of a key: entries of Postgres's indexes have 2,704 at most ("B-Tree Indexes").
 */
const maxKeyBytes = 800

function isTooLong(part: SqlValue): boolean {
  return (
    typeof part === 'string' &&
    part.length > maxKeyBytes / 4 &&
    Buffer.byteLength(part) > maxKeyBytes
  )
}
