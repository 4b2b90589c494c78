/** Widens a column whose field changed type: in place, or, if a view depends on it, by adding a wider column. */
import { sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../../../../schema/column-types.ts'
import { runOn } from '../../../../schema/create-missing.ts'
import { createMessagesView } from '../../../../schema/messages-view.ts'
import { showDiscoveredColumns } from '../../../analytics/sql/views.ts'
import type { Db } from '../../../warehouse/connection-pool.ts'
import { columnName } from './column-name.ts'
import { columnTypeOf, type FieldType } from './field-type.ts'

type ColumnWidening = {
  readonly table: string
  readonly column: string
  readonly from: FieldType
  readonly to: FieldType
  readonly taken: ReadonlySet<string>
}

/** Returns the column that now has the field: the same one, or a new, still empty one. Views keep working. */
export async function widenColumn(trx: Db, kind: DatabaseKind, widening: ColumnWidening): Promise<string> {
  await sql`savepoint widening`.execute(trx)
  try {
    await (kind === 'sqlite' ? replaceColumn(trx, widening) : alterColumn(trx, widening))
    await sql`release savepoint widening`.execute(trx)
    return widening.column
  } catch {
    await sql`rollback to savepoint widening`.execute(trx)
    await sql`release savepoint widening`.execute(trx)
    const column = columnName(`${widening.column}.${widening.to}`, widening.taken)
    const type = sql.raw(sqlTypes[kind][columnTypeOf[widening.to]])
    await sql`alter table ${sql.table(widening.table)} add column ${sql.ref(column)} ${type}`.execute(trx)
    await showColumns(trx, kind, widening.table)
    return column
  }
}

async function alterColumn(trx: Db, { table, column, from, to }: ColumnWidening): Promise<void> {
  await showColumns(trx, 'postgres', table, column)
  const type = sql.raw(sqlTypes.postgres[columnTypeOf[to]])
  const value = to === 'text' && from === 'timestamp' ? timestampAsText(column) : sql`${sql.ref(column)}::${type}`
  await sql`alter table ${sql.table(table)} alter column ${sql.ref(column)} type ${type} using ${value}`.execute(trx)
  await showColumns(trx, 'postgres', table)
}

function timestampAsText(column: string) {
  return sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}

/** SQLite cannot change a column's type, and an integer column would convert the text 007 to 7. */
async function replaceColumn(trx: Db, { table, column, from, to }: ColumnWidening): Promise<void> {
  const [old, wide] = [sql.ref(column), sql.ref('widened column')]
  await showColumns(trx, 'sqlite', table, column)
  const type = sql.raw(sqlTypes.sqlite[columnTypeOf[to]])
  await sql`alter table ${sql.table(table)} add column ${wide} ${type}`.execute(trx)
  // The declared type of the new column converts numbers to text. Booleans are numbers in SQLite, so they need a case.
  const value = from === 'boolean' ? sql`case ${old} when 0 then 'false' else 'true' end` : old
  await sql`update ${sql.table(table)} set ${wide} = ${value} where ${old} is not null`.execute(trx)
  await sql`alter table ${sql.table(table)} drop column ${old}`.execute(trx)
  await sql`alter table ${sql.table(table)} rename column ${wide} to ${old}`.execute(trx)
  await showColumns(trx, 'sqlite', table)
}

/** `without`: a column that is about to be replaced. Fails if another view reads it. */
export async function showColumns(trx: Db, kind: DatabaseKind, table: string, without?: string): Promise<void> {
  if (table === 'message_rows') await createMessagesView(runOn(trx), kind, without)
  else await showDiscoveredColumns(trx, kind, table, without)
}
