/** What differs between the two databases within a statement. */
import { type RawBuilder, sql } from 'kysely'
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'

/** Explicit parameter types: Postgres would otherwise guess them, and guess wrong within `select`. */
const castTypes: Readonly<Record<ColumnType, string>> = {
  key: 'text',
  text: 'text',
  integer: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  time: 'timestamptz',
  date: 'date',
  json: 'jsonb',
  int32: 'integer',
  utc_time: 'timestamptz',
  local_date: 'date',
}

/** A parameter of a column's type. */
export function typedParameter<T>(kind: DatabaseKind, type: ColumnType, value: T): RawBuilder<T> {
  return kind === 'sqlite' ? sql<T>`${value}` : sql<T>`cast(${value} as ${sql.raw(castTypes[type])})`
}

/**
 * Milliseconds by the database's clock when it is evaluated, not when the statement started, which may have waited.
 * SQLite has no server with a clock; see `machine_ms` in `sqlite.ts`.
 */
export function databaseNowMs(kind: DatabaseKind): RawBuilder<number> {
  return kind === 'sqlite'
    ? sql<number>`machine_ms()`
    : sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as double precision)`
}

/**
 * Rows per statement, largest first; the remaining rows use the next smaller size. SQLite is not faster beyond 50 rows.
 * In Postgres each statement is a round trip, so all remaining rows go in one (size 0 = all that remain).
 */
export const rowsPerStatement: Readonly<Record<DatabaseKind, readonly number[]>> = {
  sqlite: [50, 10, 1],
  postgres: [200, 0],
}

/** How many parameters a statement may have. Sources: SQLITE_MAX_VARIABLE_NUMBER 32766; Postgres's protocol 65535. */
export const maxParameters: Readonly<Record<DatabaseKind, number>> = { sqlite: 32_766, postgres: 65_535 }

/** A list of texts as one parameter, to use as a table with the column `value`. */
export function listParameter(kind: DatabaseKind, texts: readonly string[]): RawBuilder<{ value: string }> {
  const list = JSON.stringify(texts)
  return kind === 'sqlite'
    ? sql`(select value from json_each(${list}))`
    : sql`(select value from jsonb_array_elements_text(cast(${list} as jsonb)) as listed(value))`
}
