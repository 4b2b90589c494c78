/** What storing and finding rows needs to know of tables, made once, as every page asks for it. */
import {
  type ColumnSpec,
  type ColumnType,
  type FieldType,
  plainType,
} from '../../../schema/column-types.ts'
import { hasDeletedAt, historyTable, mirrorTables } from '../../../schema/mirror-tables.ts'
import {
  type ChildStreamName,
  childStreamsOf,
  isListStream,
  type ListStreamName,
  type StreamName,
  streamNames,
  streamSpecs,
} from '../../../schema/stream-specs.ts'

/** `field`: the undocumented field that the column has, and the type of its values there. */
export type InsertedColumn = {
  readonly name: string
  readonly type: ColumnType
  readonly field?: { readonly path: string; readonly type: FieldType }
}

export type StreamTable = {
  /** The table that stores what is read from the stream's table, which may be a view of it. */
  readonly stored: Exclude<(typeof streamSpecs)[StreamName]['table'], 'messages'> | 'message_rows'
  /** The key of the rows within a project. In a child stream, it begins with the parent's id. */
  readonly key: readonly string[]
  /** The first part of the key. */
  readonly firstKey: string
  /** The columns that storing a row writes, the common ones first. */
  readonly columns: readonly InsertedColumn[]
  readonly hasDeletedAt: boolean
  /** Shows that a row is older than the stored one although it was requested later; null = none. */
  readonly newerBy: string | null
  /** The stream itself if it is a list. */
  readonly list: ListStreamName | null
  /** Its replaced versions. */
  readonly history: ReturnType<typeof historyTable> | null
  readonly children: readonly ChildStreamName[]
}

/** Set by the warehouse itself, not when the row is stored. */
const warehouseOnlyColumns = ['deleted_at', 'messages_complete']

function describeTable(stream: StreamName): StreamTable {
  const spec = streamSpecs[stream]
  const stored = spec.table === 'messages' ? 'message_rows' : spec.table
  const key = mirrorTables[spec.table].key.filter((name) => name !== 'project_id')
  const columns = Object.entries<ColumnSpec>(mirrorTables[stored].columns)
    .filter(([name]) => !warehouseOnlyColumns.includes(name))
    .map(([name, [type]]) => ({ name, type: plainType[type] }))
  const newerBy = 'newerBy' in spec ? spec.newerBy : null
  const list = isListStream(stream) ? stream : null
  const children = childStreamsOf(stream)
  return {
    stored,
    key,
    firstKey: key[0] ?? 'id',
    columns,
    hasDeletedAt: hasDeletedAt(stored),
    newerBy,
    list,
    history: list === null ? null : historyTable(list),
    children,
  }
}

/** Written with a row, not read from it; ids keep the letters in which they were first shown. */
const columnsBesideValues =
  'project_id raw synced_at run_id asked_at read_at unchanged_since'.split(' ')
const ids = ['id', 'visitor_id', 'conversation_id', 'call_id']

/** Columns that say what is in the row of the service, and nothing else. */
export function valueColumns(
  { key }: StreamTable,
  columns: readonly InsertedColumn[],
): readonly InsertedColumn[] {
  const others = new Set([...key, ...columnsBesideValues, ...ids])
  return columns.filter(({ name }) => !others.has(name))
}

export const streamTables = Object.fromEntries(
  streamNames.map((stream) => [stream, describeTable(stream)]),
) as Readonly<Record<StreamName, StreamTable>>
