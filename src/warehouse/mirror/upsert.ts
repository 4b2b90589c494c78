/**
 * The hot path: upserts the rows of a page, with statements that are compiled once per table and size. An unchanged row
 * is not written again, and an older copy never replaces a newer one.
 */
import { CompiledQuery, sql } from 'kysely'
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import type { MirroredTable } from '../../core/stream-specs.ts'
import type { Db } from '../database/connection-pool.ts'
import { maxParameters, rowsPerStatement, typedParameter } from '../database/dialect.ts'
import type { EncodedRow, SqlValue } from './encode-value.ts'
import { hasDeletedAt } from './stream-tables.ts'

/** All that a statement's text depends on, apart from its number of rows. */
export type StatementShape = {
  readonly table: MirroredTable
  /** Documented and discovered columns, in the order of a row's parameters. */
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[]
  /** The column to return for new and changed rows; null = only count them. */
  readonly returning: string | null
  /** A column that shows that a row is older than the stored one although it was requested later; null = none. */
  readonly newerBy: string | null
}

/** How many rows were new or changed, and their values of the `returning` column. */
type UpsertResult = { readonly changed: number; readonly returned: readonly string[] }

/** Upserts rows within a transaction. No key may occur twice. */
export type UpsertRows = (trx: Db, shape: StatementShape, rows: readonly EncodedRow[]) => Promise<UpsertResult>

/** Caches the compiled statements. */
export function createUpsert(db: Db, kind: DatabaseKind): UpsertRows {
  const texts = new WeakMap<StatementShape, Map<number, string>>()
  const textFor = (shape: StatementShape, size: number): string => {
    const sizes = texts.get(shape) ?? new Map<number, string>()
    texts.set(shape, sizes)
    const text = sizes.get(size) ?? compileUpsert(db, kind, shape, size)
    sizes.set(size, text)
    return text
  }
  return async (trx, shape, rows) => {
    let changed = 0
    const returned: string[] = []
    for (const batch of splitIntoBatches(kind, shape.columns.length, rows)) {
      const query = CompiledQuery.raw(textFor(shape, batch.length), flatten(batch))
      const result = await trx.executeQuery<Record<string, string>>(query)
      changed += Number(result.numAffectedRows ?? 0n)
      if (shape.returning !== null) for (const row of result.rows) returned.push(row[shape.returning] ?? '')
    }
    return { changed, returned }
  }
}

/** Much faster than `flat`, which checks each value. */
function flatten(rows: readonly EncodedRow[]): SqlValue[] {
  const values: SqlValue[] = []
  for (const row of rows) for (let i = 0; i < row.length; i++) values.push(row[i] as SqlValue)
  return values
}

function* splitIntoBatches<T>(kind: DatabaseKind, width: number, rows: readonly T[]): Generator<readonly T[]> {
  const maxRows = Math.max(1, Math.floor(maxParameters[kind] / width))
  let from = 0
  for (const batchSize of rowsPerStatement[kind]) {
    const size = Math.min(maxRows, batchSize === 0 ? Math.max(1, rows.length - from) : batchSize)
    for (; rows.length - from >= size; from += size) yield rows.slice(from, from + size)
  }
  // Rows so wide that a statement holds fewer of them than the batch sizes say.
  for (; from < rows.length; from += maxRows) yield rows.slice(from, from + maxRows)
}

function compileUpsert(db: Db, kind: DatabaseKind, shape: StatementShape, size: number): string {
  const { table, columns } = shape
  const row = sql`(${sql.join(columns.map(({ type }) => typedParameter(kind, type, null)))})`
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const text = sql`
    insert into ${sql.table(table)} (${names}) values ${sql.join(Array.from({ length: size }, () => row))}
    on conflict (${sql.join(tables[table].key.map((name) => sql.ref(name)))}) do update set ${assignments(shape)}
    where ${updateCondition(shape)} ${shape.returning === null ? sql`` : sql`returning ${sql.ref(shape.returning)}`}`
  return text.compile(db).sql
}

/** No row has `deleted_at`, so its excluded value is null: a row that the service returned exists. */
function assignments({ table, columns }: StatementShape) {
  const key: readonly string[] = tables[table].key
  const names = columns.map(({ name }) => name).filter((name) => !key.includes(name))
  const all = hasDeletedAt(table) ? [...names, 'deleted_at'] : names
  return sql.join(all.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`))
}

function updateCondition({ table, newerBy }: StatementShape) {
  const stored = (name: string) => sql.ref(`${table}.${name}`)
  const isDifferent = sql`excluded.raw is distinct from ${stored('raw')}`
  const isRestored = hasDeletedAt(table) ? sql` or ${stored('deleted_at')} is not null` : sql``
  const isNotOlder =
    newerBy === null
      ? sql``
      : sql` and (${stored(newerBy)} is null or ${sql.ref(`excluded.${newerBy}`)} >= ${stored(newerBy)})`
  return sql`(${isDifferent}${isRestored}) and excluded.asked_at >= ${stored('asked_at')}${isNotOlder}`
}
