/**
 * The hot path: upserts the rows of a page, with statements that are compiled once per table and size. An unchanged row
 * is not written again, and an older copy never replaces a newer one.
 */
import { CompiledQuery, sql } from 'kysely'
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import { clockToleranceSeconds } from '../../values/cursor-limit.ts'
import type { EpochMs } from '../../values/time.ts'
import { arrayInsert, arrayParameter, rowsPerArrayInsert } from '../../warehouse/array-parameter.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { batchesOf, maxParameters, rowsPerStatement } from '../../warehouse/dialect.ts'
import { messageFields } from '../core/message-fields.ts'
import type { EncodedRow, SqlValue } from './encode-value.ts'
import { hasDeletedAt, type StoredTable } from './stream-tables.ts'

/** All that a statement's text depends on, apart from its number of rows. */
export type StatementShape = {
  readonly table: StoredTable
  /** Documented and discovered columns, in the order of a row's parameters. */
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[]
  /** How many of them have the same value in all rows of a page; they come first. */
  readonly pageColumns: number
  /** The column to return for new and changed rows; null = only count them. */
  readonly returning: string | null
  /** A column that shows that a row is older than the stored one although it was requested later; null = none. */
  readonly newerBy: string | null
}

/** How many rows were new or changed, and their values of the `returning` column. */
type UpsertResult = { readonly changed: number; readonly returned: readonly string[] }

/** Upserts rows within a transaction. No key may occur twice. */
export type UpsertRows = (trx: Db, shape: StatementShape, rows: readonly EncodedRow[]) => Promise<UpsertResult>

/** Caches the compiled statements. `clock`: that of the requests, by which rows are compared. */
export function createUpsert(db: Db, kind: DatabaseKind, clock: () => EpochMs): UpsertRows {
  const latestPossible = () => clock() + clockToleranceSeconds * 1000
  const statementsOf =
    kind === 'sqlite' ? createRowStatements(db, latestPossible) : createArrayStatements(db, latestPossible)
  return async (trx, shape, rows) => {
    let changed = 0
    const returned: string[] = []
    for (const statement of statementsOf(shape, rows)) {
      const result = await trx.executeQuery<Record<string, string>>(statement)
      changed += Number(result.numAffectedRows ?? 0n)
      if (shape.returning !== null) for (const row of result.rows) returned.push(row[shape.returning] ?? '')
    }
    return { changed, returned }
  }
}

type Statements = (shape: StatementShape, rows: readonly EncodedRow[]) => Iterable<CompiledQuery<never>>

/** A parameter for each value, for those of the page once, and a text for each of few numbers of rows. */
function createRowStatements(db: Db, latestPossible: () => EpochMs): Statements {
  const texts = new WeakMap<StatementShape, Map<number, string>>()
  return function* (shape, rows) {
    const sizes = texts.get(shape) ?? new Map<number, string>()
    texts.set(shape, sizes)
    for (const batch of splitIntoBatches(shape.columns.length, rows)) {
      const text = sizes.get(batch.length) ?? compileRowUpsert(db, shape, batch.length)
      sizes.set(batch.length, text)
      const parameters = [...flatten(shape.pageColumns, batch), latestPossible()]
      yield CompiledQuery.raw(text, parameters) as CompiledQuery<never>
    }
  }
}

/** A parameter for each column, and one text for any number of rows. */
function createArrayStatements(db: Db, latestPossible: () => EpochMs): Statements {
  const texts = new WeakMap<StatementShape, string>()
  return function* (shape, rows) {
    const { table, columns } = shape
    const text = texts.get(shape) ?? sql`${arrayInsert(table, columns)} ${onConflict(shape)}`.compile(db).sql
    texts.set(shape, text)
    for (const batch of batchesOf(rows, rowsPerArrayInsert)) {
      const arrays = columns.map(({ type }, i) =>
        i === 0
          ? (batch[0]?.[0] ?? null)
          : arrayParameter(
              type,
              batch.map((row) => row[i] ?? null),
            ),
      )
      yield CompiledQuery.raw(text, [...arrays, latestPossible()]) as CompiledQuery<never>
    }
  }
}

/** Much faster than `flat`, which checks each value. */
function flatten(pageColumns: number, rows: readonly EncodedRow[]): SqlValue[] {
  const values = rows[0]?.slice(0, pageColumns) ?? []
  for (const row of rows) for (let i = pageColumns; i < row.length; i++) values.push(row[i] as SqlValue)
  return values
}

function* splitIntoBatches<T>(width: number, rows: readonly T[]): Generator<readonly T[]> {
  const maxRows = Math.max(1, Math.floor((maxParameters - 1) / width))
  let from = 0
  for (const batchSize of rowsPerStatement) {
    const size = Math.min(maxRows, batchSize)
    for (; rows.length - from >= size; from += size) yield rows.slice(from, from + size)
  }
}

function compileRowUpsert(db: Db, shape: StatementShape, size: number): string {
  const { table, columns, pageColumns } = shape
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const parameters = (count: number) => sql.join(Array.from({ length: count }, () => sql`${null}`))
  const row = sql`(${parameters(columns.length - pageColumns)})`
  const rows = sql.join(Array.from({ length: size }, () => row))
  // A row that is alone may be very long, and the join would copy it. Without `where`, SQLite's parser would take `on` for a
  // join's.
  const source =
    size === 1
      ? sql`values (${parameters(columns.length)})`
      : sql`select page.*, row.* from (select ${parameters(pageColumns)}) as page, (values ${rows}) as row where true`
  return sql`insert into ${sql.table(table)} (${names}) ${source} ${onConflict(shape)}`.compile(db).sql
}

function onConflict(shape: StatementShape) {
  const key = sql.join(keyOf(shape.table).map((name) => sql.ref(name)))
  return sql`on conflict (${key}) do update set ${assignments(shape)} where ${updateCondition(shape)}
    ${shape.returning === null ? sql`` : sql`returning ${sql.ref(shape.returning)}`}`
}

/** No row has `deleted_at`, so its excluded value is null: a row that the service returned exists. */
function assignments({ table, columns }: StatementShape) {
  const names = columns.map(({ name }) => name).filter((name) => !keyOf(table).includes(name))
  const all = hasDeletedAt(table) ? [...names, 'deleted_at'] : names
  return sql.join(all.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`))
}

function updateCondition({ table, newerBy }: StatementShape) {
  const stored = (name: string) => sql.ref(`${table}.${name}`)
  const documented = table === 'message_rows' ? Object.values(messageFields).map(([column]) => column) : []
  const compared = ['raw', ...documented.filter((name) => !keyOf(table).includes(name))]
  const isDifferent = sql.join(
    compared.map((name) => sql`${sql.ref(`excluded.${name}`)} is distinct from ${stored(name)}`),
    sql` or `,
  )
  const isRestored = hasDeletedAt(table) ? sql` or ${stored('deleted_at')} is not null` : sql``
  const isNotOlder =
    newerBy === null
      ? sql``
      : sql` and (${stored(newerBy)} is null or ${sql.ref(`excluded.${newerBy}`)} >= ${stored(newerBy)})`
  // A row that was requested in the future was stored while a clock was wrong, so its time orders nothing.
  const isRequestedLater = sql`(excluded.asked_at >= ${stored('asked_at')} or ${stored('asked_at')} > ${null})`
  return sql`(${isDifferent}${isRestored}) and ${isRequestedLater}${isNotOlder}`
}

function keyOf(table: StoredTable): readonly string[] {
  return tables[table].key
}
