/** The columns of a stream's table: its key, and those that a page fills. */
import { type ColumnType, withoutNullability } from '../../../schema/column-types.ts'
import { mirrorTables } from '../../../schema/mirror-tables.ts'
import { type MirroredTable, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'

type Specs = typeof streamSpecs
type ColumnOf<Table extends MirroredTable> = keyof (typeof mirrorTables)[Table]['columns']
type TableWithDeletions = { [T in MirroredTable]: 'deleted_at' extends ColumnOf<T> ? T : never }[MirroredTable]
type Fitting<S extends Specs[StreamName]> = {
  [K in keyof S]: K extends `${string}Column` ? ColumnOf<S['table']> | null : unknown
} & { table: S['kind'] extends 'daily' | 'snapshot' ? MirroredTable : TableWithDeletions }

/** Every stream's table exists, and has the columns that the stream needs. */
const specs = streamSpecs satisfies { [N in StreamName]: Fitting<Specs[N]> }

/** The key of a stream's rows within a project. In a child stream, it begins with the parent's id. */
export function keyColumns(stream: StreamName): readonly string[] {
  return mirrorTables[specs[stream].table].key.filter((name) => name !== 'project_id')
}

/** Parts of a key that are made from the row: they differ if the service orders its fields in another way. */
const madeColumns = ['entry_hash', 'ordinal']

/** The parts of the key that are not in the row itself. */
export function identityColumns(stream: StreamName): readonly string[] {
  return keyColumns(stream).filter((name) => !madeColumns.includes(name))
}

/** Tables that rows are written to. */
export type StoredTable = Exclude<MirroredTable, 'messages'> | 'message_rows'

/** The table that stores what is read from this one, which may be a view of it. */
export function storedTable(table: MirroredTable): StoredTable {
  return table === 'messages' ? 'message_rows' : table
}

/** Set by the warehouse itself, not when the row is stored. */
const warehouseOnlyColumns = ['deleted_at', 'messages_complete']

/** The columns that storing a row writes, the common ones first. */
export function insertedColumns(table: StoredTable): readonly { readonly name: string; readonly type: ColumnType }[] {
  return Object.entries(mirrorTables[table].columns)
    .filter(([name]) => !warehouseOnlyColumns.includes(name))
    .map(([name, [type]]) => ({ name, type: withoutNullability(type) }))
}
