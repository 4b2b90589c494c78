/**
 * The column of an undocumented field: its name, and widening it, in place or by a wider column.
 */
import { hash } from 'node:crypto'
import { sql } from 'kysely'
import {
  columnTypeOf,
  columnTypes,
  type DatabaseKind,
  type FieldType,
} from '../../../../schema/column-types.ts'
import { runOn } from '../../../../schema/create-missing.ts'
import { createMessagesView } from '../../../../schema/messages-view.ts'
import type { Db } from '../../../warehouse/connection-pool.ts'

/** Postgres truncates them. Source: its documentation, "Identifiers and Key Words". */
const maxIdentifierBytes = 63

/** System columns that every table of one of the databases has. */
const systemColumns = [
  'oid',
  'ctid',
  'xmin',
  'xmax',
  'cmin',
  'cmax',
  'tableoid',
  'rowid',
  '_rowid_',
]

/** `customFields.plan` → `custom_fields__plan`. A taken or long name ends in a hash of the path. */
export function columnName(path: string, taken: ReadonlySet<string>): string {
  const plain = path.split('.').map(toSnakeCase).join('__')
  if (plain.length <= maxIdentifierBytes && !taken.has(plain) && !systemColumns.includes(plain))
    return plain
  for (let n = 0; ; n++) {
    const suffix = hash('sha256', n === 0 ? path : `${path} ${n}`).slice(0, 8)
    const name = `${plain.slice(0, maxIdentifierBytes - suffix.length - 1)}_${suffix}`
    if (!taken.has(name)) return name
  }
}

function toSnakeCase(segment: string): string {
  const words = segment
    .replace(/([a-z0-9])(?=[A-Z])/g, '$1_')
    .replace(/([A-Z])(?=[A-Z][a-z])/g, '$1_')
    .toLowerCase()
    .split(/[^a-z0-9]/)
  const name = words.filter((word) => word !== '').join('_')
  return name === '' ? 'field' : /^\d/.test(name) ? `f_${name}` : name
}

/** Makes the views of a table's columns anew. Fails if another view reads the column `without`. */
export type ShowColumns = (
  trx: Db,
  kind: DatabaseKind,
  table: string,
  without?: string,
) => Promise<void>

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

/**
 * Returns the column that now has the field: the same one, or a new, empty one if a view, an index
 * or a trigger uses it, which keep working.
 */
export async function widenColumn(
  trx: Db,
  kind: DatabaseKind,
  widening: ColumnWidening,
): Promise<string> {
  const { table, column, to, taken, showColumns } = widening
  const type = sqlTypeOf(kind, to)
  await sql`savepoint widening`.execute(trx)
  try {
    await showColumns(trx, kind, table, column)
    await (kind === 'sqlite' ? replaceColumn(trx, widening) : alterColumn(trx, widening))
    await showColumns(trx, kind, table)
    await sql`release savepoint widening`.execute(trx)
    return column
  } catch (error) {
    if (!isUsedElsewhere(kind, error)) throw error
    await sql`rollback to savepoint widening`.execute(trx)
    await sql`release savepoint widening`.execute(trx)
    const added = columnName(`${column}.${to}`, taken)
    await sql`alter table ${sql.table(table)} add column ${sql.ref(added)} ${type}`.execute(trx)
    await showColumns(trx, kind, table)
    return added
  }
}

/**
 * Postgres: a view, a trigger, a policy or a function; an index or a constraint that the other type
 * does not suit. Source: postgresql.org/docs/current/errcodes-appendix.html, read 2026-11-28.
 */
const dependencyCodes = ['0A000', '2BP01', '42P16', '42601', '42883', '42704', '42804']

/** Whether something uses it; in SQLite, also whether any view that people made is broken. */
function isUsedElsewhere(kind: DatabaseKind, error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (kind === 'sqlite') return /^error in (view|trigger|index|table) /.test(error.message)
  return 'code' in error && dependencyCodes.includes(String(error.code))
}

export function sqlTypeOf(kind: DatabaseKind, type: FieldType) {
  return sql.raw(columnTypes[columnTypeOf(type)][kind])
}

async function alterColumn(trx: Db, { table, column, from, to }: ColumnWidening): Promise<void> {
  const name = sql.ref(column)
  const type = sqlTypeOf('postgres', to)
  const value =
    to === 'text' && from === 'timestamp'
      ? sql`to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
      : sql`${name}::${type}`
  await sql`alter table ${sql.table(table)} alter column ${name} type ${type} using
    ${value}`.execute(trx)
}

/** SQLite cannot change a column's type, and an integer column would convert the text 007 to 7. */
async function replaceColumn(trx: Db, { table, column, from, to }: ColumnWidening): Promise<void> {
  const old = sql.ref(column)
  const wide = sql.ref('widened column')
  await sql`alter table ${sql.table(table)} add column ${wide} ${sqlTypeOf('sqlite', to)}`.execute(
    trx,
  )
  // The new column's type converts numbers to text. Booleans are numbers in SQLite.
  const value = from === 'boolean' ? sql`case ${old} when 0 then 'false' else 'true' end` : old
  await sql`update ${sql.table(table)} set ${wide} = ${value} where ${old} is not null`.execute(trx)
  await sql`alter table ${sql.table(table)} drop column ${old}`.execute(trx)
  await sql`alter table ${sql.table(table)} rename column ${wide} to ${old}`.execute(trx)
}
