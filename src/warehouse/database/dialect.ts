/** All that differs between the two databases in a statement. */
import { type RawBuilder, sql } from 'kysely'
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'

/** A parameter's type, said aloud: Postgres would else guess it, and guess wrong within `select`. */
const castTypes: Readonly<Record<ColumnType, string>> = {
  key: 'text',
  text: 'text',
  integer: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  time: 'timestamptz',
  date: 'date',
  json: 'jsonb',
}

/** A parameter of a column's type. */
export function typedParameter<T>(kind: DatabaseKind, type: ColumnType, value: T): RawBuilder<T> {
  return kind === 'sqlite' ? sql<T>`${value}` : sql<T>`cast(${value} as ${sql.raw(castTypes[type])})`
}

/**
 * Milliseconds by the database's clock at this very moment of the statement, not at its start: it may have waited. SQLite
 * has no server whose clock it could be; see `sqlite.ts`.
 */
export function databaseNowMs(kind: DatabaseKind): RawBuilder<number> {
  return kind === 'sqlite'
    ? sql<number>`machine_ms()`
    : sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as double precision)`
}

/**
 * Rows a statement, largest first; what is left over takes the next smaller size. SQLite gains nothing beyond 50 rows;
 * in Postgres each statement is a round trip, so what is left over goes as one (size 0 = whatever is left).
 */
export const rowsPerStatement: Readonly<Record<DatabaseKind, readonly number[]>> = {
  sqlite: [50, 10, 1],
  postgres: [200, 0],
}

/** Parameters that one statement may have. Sources: SQLITE_MAX_VARIABLE_NUMBER 32766; Postgres's protocol 65535. */
export const maxParameters: Readonly<Record<DatabaseKind, number>> = { sqlite: 32_766, postgres: 65_535 }

/** A list of texts as one parameter, to be used as a table with the one column `value`. */
export function listParameter(kind: DatabaseKind, texts: readonly string[]): RawBuilder<{ value: string }> {
  const list = JSON.stringify(texts)
  return kind === 'sqlite'
    ? sql`(select value from json_each(${list}))`
    : sql`(select value from jsonb_array_elements_text(cast(${list} as jsonb)) as listed(value))`
}
