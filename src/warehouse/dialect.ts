/** Parts of statements, and what differs in them between the two databases. */
import { type RawBuilder, sql } from 'kysely'
import { type ColumnType, columnTypes, type DatabaseKind } from '../../schema/column-types.ts'
import type { ProjectId } from '../values/project.ts'
import type { EpochMs, EpochSeconds } from '../values/time.ts'
import type { Db } from './connection-pool.ts'

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** In Postgres: a row of `pg_class` is of the schema that the warehouse is in. */
export const isInSchema = sql`relnamespace = (select oid from pg_namespace
  where nspname = current_schema())`

/** Postgres would otherwise guess the type, and guess wrong within `select`. */
export function typedParameter<T>(kind: DatabaseKind, type: ColumnType, value: T): RawBuilder<T> {
  if (kind === 'sqlite') return sql<T>`${value}`
  return sql<T>`cast(${value} as ${sql.raw(elementType(type))})`
}

export const typedParameters =
  (kind: DatabaseKind) =>
  <T>(type: ColumnType, value: T): RawBuilder<T> =>
    typedParameter(kind, type, value)

/** A key is a text; its collation belongs to the column. */
export const elementType = (type: ColumnType): string =>
  columnTypes[type === 'key' ? 'text' : type].postgres

/**
 * When it is evaluated, not when the statement started, which may have waited. SQLite: `machine_ms`
 * in `sqlite.ts`.
 */
export function databaseNowMs(kind: DatabaseKind): RawBuilder<number> {
  return kind === 'sqlite'
    ? sql<number>`machine_ms()`
    : sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as double precision)`
}

/**
 * In SQLite, and fewer for those that remain. More are not faster: outside of the mirror's
 * transactions, a statement that changes more than 16 pages also writes them to a temporary file
 * (SQLITE_STMTJRNL_SPILL, 64 KiB).
 */
export const rowsPerStatement = [20, 5, 1] as const

/** A list of texts as one parameter, to use as a table with the column `value`. */
export function listParameter(
  kind: DatabaseKind,
  texts: readonly string[],
): RawBuilder<{ value: string }> {
  const list = JSON.stringify(texts)
  return kind === 'sqlite'
    ? sql`(select value from json_each(${list}))`
    : sql`(select value from jsonb_array_elements_text(cast(${list} as jsonb)) as listed(value))`
}

/** Rows as one parameter, to use as a table with these columns. */
export function rowsParameter<C extends Readonly<Record<string, ColumnType>>>(
  kind: DatabaseKind,
  columns: C,
  rows: readonly Readonly<Partial<Record<keyof C, string | number | null>>>[],
): RawBuilder<unknown> {
  const names = Object.keys(columns)
  const list = JSON.stringify(rows.map((row) => names.map((name) => row[name] ?? null)))
  const fields = names.map((name, i) => {
    const declared = columns[name] ?? 'text'
    const type = sql.raw(kind === 'sqlite' ? columnTypes[declared].sqlite : elementType(declared))
    return sql`cast(listed.value ->> ${sql.lit(i)} as ${type}) as ${sql.ref(name)}`
  })
  const elements =
    kind === 'sqlite'
      ? sql`json_each(${list}) as listed`
      : sql`jsonb_array_elements(cast(${list} as jsonb)) as listed(value)`
  return sql`(select ${sql.join(fields)} from ${elements})`
}

/**
 * One of the texts, however many, for columns that an index begins with. Postgres looks up a few
 * values as an array. It would hash a subquery, and read the whole table, where its statistics are
 * behind the rows: during a first sync.
 */
export function inList(kind: DatabaseKind, texts: readonly string[]): RawBuilder<unknown> {
  const list = listParameter(kind, texts)
  return kind === 'sqlite'
    ? sql`in (select value from ${list} as listed)`
    : sql`= any(array(select value from ${list} as listed))`
}

/** Seconds since 1970: converted by the database, far cheaper than parsing texts. */
export function epochSeconds(kind: DatabaseKind, column: string): RawBuilder<EpochSeconds | null> {
  return kind === 'sqlite'
    ? sql`unixepoch(${sql.ref(column)})`
    : sql`cast(floor(extract(epoch from ${sql.ref(column)})) as bigint)`
}

/** Locks a row that is selected. SQLite has one write transaction at a time anyway. */
export const forUpdate = (kind: DatabaseKind): RawBuilder<unknown> =>
  kind === 'postgres' ? sql`for update` : sql``

/** Until the transaction ends. SQLite has one writer anyway. */
export async function acquireLock(
  trx: Db,
  kind: DatabaseKind,
  name: string,
  mode: 'shared' | 'exclusive' = 'exclusive',
) {
  if (kind === 'sqlite') return
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  await sql`select ${lock}(hashtext(${name}))`.execute(trx)
}

export type TableColumn = { readonly name: string; readonly declared: string }

/** In the order in which they were added: Postgres adds columns to a view at its end only. */
export async function readColumns(
  db: Db,
  kind: DatabaseKind,
  table: string,
): Promise<readonly TableColumn[]> {
  const { rows } = await (kind === 'sqlite'
    ? sql<TableColumn>`select name, type as declared from pragma_table_info(${table}) order by cid`
    : sql<TableColumn>`select attname as name, format_type(atttypid, null) as declared
      from pg_attribute
        where attrelid = to_regclass(${table}) and attnum > 0 and not attisdropped order by attnum`
  ).execute(db)
  return rows
}

/** For statements with many rows, as their parameters are limited. */
export function* batchesOf<T>(rows: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < rows.length; from += size) yield rows.slice(from, from + size)
}

/** A file may write an id in upper case, and so may the service. */
export function inAnyCase(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.flatMap((id) => [id, id.toLowerCase(), id.toUpperCase()]))]
}

/** A condition: all of these that are not null. */
export function allOf(conditions: readonly (RawBuilder<unknown> | null)[]): RawBuilder<unknown> {
  const set = conditions.filter((condition) => condition !== null)
  return set.length === 0 ? sql`true` : sql.join(set, sql` and `)
}

/** How many rows `select … from` finds. */
export async function countRowsOf(db: Db, from: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${from}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** As of now; it goes on by this process's monotonic clock. */
export async function readClock(db: Db, kind: DatabaseKind): Promise<() => EpochMs> {
  if (kind === 'sqlite') return Date.now
  const { rows } = await sql<{ now: number }>`select ${databaseNowMs(kind)} as now`.execute(db)
  const readAt = performance.now()
  const now = rows[0]?.now ?? Date.now()
  return () => Math.floor(now + performance.now() - readAt)
}

/** Texts of a statement are some megabytes at most. */
export const rowsPerArrayInsert = 2000

/**
 * Into Postgres, an array for each column: a parameter of each value takes several times as long.
 */
export function arrayInsert(
  table: string,
  columns: readonly { readonly name: string; readonly type: ColumnType }[],
  project: ProjectId,
  valuesOf: (name: string) => readonly unknown[],
): RawBuilder<unknown> {
  const names = columns.map(({ name }) => sql.ref(name))
  const arrays = columns
    .slice(1)
    .map(({ name, type }) => sql`cast(${valuesOf(name)} as ${sql.raw(`${elementType(type)}[]`)})`)
  return sql`insert into ${sql.table(table)} (${sql.join(names)})
    select cast(${project} as text), listed.* from unnest(${sql.join(arrays)}) as listed`
}
