/**
 * Inserts rows into Postgres with one parameter for each column, an array. The driver and the server take several times as
 * long for a parameter of each value.
 */
import { sql } from 'kysely'
import { type ColumnType, sqlTypes } from '../../../schema/column-types.ts'
import type { Db } from '../database/connection-pool.ts'

/** `project_id` first. */
export type InsertColumns = readonly { readonly name: string; readonly type: ColumnType }[]

/** Texts of a statement are some megabytes at most. */
export const rowsPerArrayInsert = 2000

/** Its parameters: the project, and an array of each other column. */
export function compileArrayInsert(db: Db, table: string, [project, ...columns]: InsertColumns): string {
  const names = [project, ...columns].map((column) => sql.ref(column?.name ?? ''))
  const arrays = columns.map(({ type }) => sql`cast(${null} as ${sql.raw(`${elementType(type)}[]`)})`)
  return sql`insert into ${sql.table(table)} (${sql.join(names)})
    select cast(${null} as text), listed.* from unnest(${sql.join(arrays)}) as listed`.compile(db).sql
}

/** A key is a text; its collation belongs to the column. */
function elementType(type: ColumnType): string {
  return sqlTypes.postgres[type === 'key' ? 'text' : type]
}

/** As Postgres reads an array from a text. Times and dates are texts without a quote, a comma or a brace. */
export function arrayLiteral(type: ColumnType, values: readonly (string | number | boolean | null)[]): string {
  const isQuoted = type === 'text' || type === 'key'
  const elements = values.map((value) => {
    if (value === null) return 'NULL'
    return isQuoted ? quote(String(value)) : String(value)
  })
  return `{${elements.join(',')}}`
}

function quote(text: string): string {
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`
}
