/**
 * Rows as parameters of Postgres: one for each column, an array. The driver and the server take several times as long for
 * a parameter of each value, and a statement's text does not depend on the number of rows, so it is prepared once.
 */
import { type RawBuilder, sql } from 'kysely'
import { type ColumnType, sqlTypes } from '../../schema/column-types.ts'
import type { Db } from './connection-pool.ts'

/** `project_id` first. */
export type InsertColumns = readonly { readonly name: string; readonly type: ColumnType }[]

/** Texts of a statement are some megabytes at most. */
export const rowsPerArrayInsert = 2000

/** An insert. `parameters`: the project, and an array of each other column; without them, they are given when it is run. */
export function arrayInsert(
  table: string,
  [project, ...columns]: InsertColumns,
  [projectId = null, ...values]: readonly unknown[] = [],
): RawBuilder<unknown> {
  const names = [project, ...columns].map((column) => sql.ref(column?.name ?? ''))
  const arrays = columns.map(({ type }, i) => sql`cast(${values[i] ?? null} as ${sql.raw(`${elementType(type)}[]`)})`)
  return sql`insert into ${sql.table(table)} (${sql.join(names)})
    select cast(${projectId} as text), listed.* from unnest(${sql.join(arrays)}) as listed`
}

export function compileArrayInsert(db: Db, table: string, columns: InsertColumns): string {
  return arrayInsert(table, columns).compile(db).sql
}

/** A key is a text; its collation belongs to the column. */
function elementType(type: ColumnType): string {
  return sqlTypes.postgres[type === 'key' ? 'text' : type]
}

type ArrayValue = string | number | bigint | boolean | null

/** Postgres's ids of element types. Source: `select oid, typname from pg_type`. */
const binaryElements: Partial<Record<ColumnType, { readonly oid: number; readonly version: boolean }>> = {
  key: { oid: 25, version: false },
  text: { oid: 25, version: false },
  json: { oid: 3802, version: true },
}

/**
 * One parameter. Texts are sent as they are: escaping them here and reading the escapes there takes both sides longer than
 * anything else about them. Numbers, times and dates are texts without a quote, a comma or a brace.
 */
export function arrayParameter(type: ColumnType, values: readonly ArrayValue[]): string | Buffer {
  const element = binaryElements[type]
  if (element === undefined) return `{${values.map((value) => (value === null ? 'NULL' : String(value))).join(',')}}`
  return binaryArray(element.oid, element.version, values)
}

/**
 * Dimensions, whether there are nulls, the elements' type, their number and the first index; then each with its length.
 * `hasVersion`: elements begin with the number of their format. Source: array_recv and jsonb_recv of Postgres.
 */
function binaryArray(oid: number, hasVersion: boolean, values: readonly ArrayValue[]): Buffer {
  const texts = values.map((value) => (value === null ? null : String(value)))
  // A UTF-16 unit takes three bytes at most.
  const most = texts.reduce((sum, text) => sum + 5 + (text?.length ?? 0) * 3, 20)
  const buffer = Buffer.allocUnsafe(most)
  let at = 0
  for (const number of [1, Number(texts.includes(null)), oid, texts.length, 1]) at = buffer.writeInt32BE(number, at)
  for (const text of texts) {
    if (text === null) {
      at = buffer.writeInt32BE(-1, at)
      continue
    }
    const start = at + 4
    const from = hasVersion ? buffer.writeUInt8(1, start) : start
    const end = from + buffer.write(text, from)
    buffer.writeInt32BE(end - start, at)
    at = end
  }
  return buffer.subarray(0, at)
}
