/** Widens a column whose field changed type: in place, or, if a view depends on it, by adding a wider column. */
import { sql } from 'kysely'
import { columnTypeOf, columnTypes, type DatabaseKind, type FieldType } from '../../../../schema/column-types.ts'
import { runOn } from '../../../../schema/create-missing.ts'
import { createMessagesView } from '../../../../schema/messages-view.ts'
import type { Db } from '../../../warehouse/connection-pool.ts'
import { columnName } from './column-name.ts'

/** Makes the views of a table's columns anew. `without`: a column that is about to be replaced. Fails if another view reads it. */
export type ShowColumns = (trx: Db, kind: DatabaseKind, table: string, without?: string) => Promise<void>

export function showColumnsWith(showDiscovered: ShowColumns): ShowColumns {
  return (trx, kind, table, without) => {
    if (table !== 'message_rows') return showDiscovered(trx, kind, table, without)
    return createMessagesView(runOn(trx), kind, without)
  }
}

type ColumnWidening = {
  readonly table: string
  readonly column: string
  readonly from: FieldType
  readonly to: FieldType
  readonly taken: ReadonlySet<string>
  readonly showColumns: ShowColumns
}

/** Returns the column that now has the field: the same one, or a new, still empty one. Views keep working. */
export async function widenColumn(trx: Db, kind: DatabaseKind, widening: ColumnWidening): Promise<string> {
  const { table, column, to, taken, showColumns } = widening
  const type = sqlTypeOf(kind, to)
  await sql`savepoint widening`.execute(trx)
  try {
    await showColumns(trx, kind, table, column)
    await (kind === 'sqlite' ? replaceColumn(trx, widening) : alterColumn(trx, widening))
    await showColumns(trx, kind, table)
    await sql`release savepoint widening`.execute(trx)
    return column
  } catch {
    await sql`rollback to savepoint widening`.execute(trx)
    await sql`release savepoint widening`.execute(trx)
    const added = columnName(`${column}.${to}`, taken)
    await sql`alter table ${sql.table(table)} add column ${sql.ref(added)} ${type}`.execute(trx)
    await showColumns(trx, kind, table)
    return added
  }
}

export function sqlTypeOf(kind: DatabaseKind, type: FieldType) {
  return sql.raw(columnTypes[columnTypeOf(type)][kind])
}

async function alterColumn(trx: Db, { table, column, from, to }: ColumnWidening): Promise<void> {
  const [name, type] = [sql.ref(column), sqlTypeOf('postgres', to)]
  const value =
    to === 'text' && from === 'timestamp'
      ? sql`to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
      : sql`${name}::${type}`
  await sql`alter table ${sql.table(table)} alter column ${name} type ${type} using ${value}`.execute(trx)
}

/** SQLite cannot change a column's type, and an integer column would convert the text 007 to 7. */
async function replaceColumn(trx: Db, { table, column, from, to }: ColumnWidening): Promise<void> {
  const [old, wide] = [sql.ref(column), sql.ref('widened column')]
  await sql`alter table ${sql.table(table)} add column ${wide} ${sqlTypeOf('sqlite', to)}`.execute(trx)
  // The declared type of the new column converts numbers to text. Booleans are numbers in SQLite, so they need a case.
  const value = from === 'boolean' ? sql`case ${old} when 0 then 'false' else 'true' end` : old
  await sql`update ${sql.table(table)} set ${wide} = ${value} where ${old} is not null`.execute(trx)
  await sql`alter table ${sql.table(table)} drop column ${old}`.execute(trx)
  await sql`alter table ${sql.table(table)} rename column ${wide} to ${old}`.execute(trx)
}
