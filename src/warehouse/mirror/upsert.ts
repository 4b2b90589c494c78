/**
 * The hot path: rows of a page into their table, by statements compiled once a table and size. A row that is stored
 * already as it came is not written again, and an older copy never replaces a newer one.
 */
import { CompiledQuery, sql } from 'kysely'
import type { ColumnType, DatabaseKind } from '../../../schema/portable.ts'
import { tables } from '../../../schema/tables.ts'
import { bound, mostParameters, statementRows } from '../database/dialect.ts'
import type { Db } from '../database/session.ts'
import type { Bound } from './cell.ts'

export type MirroredTable =
  | 'conversations'
  | 'messages'
  | 'visitors'
  | 'visitor_activity'
  | 'calls'
  | 'call_recordings'
  | 'analytics_rollups'
  | 'availability_snapshots'

/** What tells one statement from another. */
export type Shape = {
  readonly table: MirroredTable
  /** The columns of a row, in the order of its parameters, documented and discovered ones. */
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[]
  /** Column whose values are wanted of the rows that were new or different; null = only how many. */
  readonly returning: string | null
  /** A column by which a row may be older than what is stored, although it was asked for later; null = none. */
  readonly newerBy: string | null
}

/** Rows that were new or different: how many, and the values of the `returning` column. */
export type Upserted = { readonly changed: number; readonly returned: readonly string[] }

/** Writes rows of a shape within a transaction. No key may occur twice. */
export type Upsert = (trx: Db, shape: Shape, rows: readonly (readonly Bound[])[]) => Promise<Upserted>

/** Keeps the compiled texts. */
export function createUpsert(db: Db, kind: DatabaseKind): Upsert {
  const texts = new WeakMap<Shape, Map<number, string>>()
  const textFor = (shape: Shape, size: number): string => {
    const sizes = texts.get(shape) ?? new Map<number, string>()
    texts.set(shape, sizes)
    const text = sizes.get(size) ?? compile(db, kind, shape, size)
    sizes.set(size, text)
    return text
  }
  return async (trx, shape, rows) => {
    let changed = 0
    const returned: string[] = []
    for (const part of portions(kind, shape.columns.length, rows)) {
      const query = CompiledQuery.raw(textFor(shape, part.length), flatten(part))
      const result = await trx.executeQuery<Record<string, string>>(query)
      changed += Number(result.numAffectedRows ?? 0n)
      if (shape.returning !== null) for (const row of result.rows) returned.push(row[shape.returning] ?? '')
    }
    return { changed, returned }
  }
}

/** A good deal faster than `flat`, which has to look at each value. */
function flatten(rows: readonly (readonly Bound[])[]): Bound[] {
  const values: Bound[] = []
  for (const row of rows) for (let i = 0; i < row.length; i++) values.push(row[i] as Bound)
  return values
}

function* portions<T>(kind: DatabaseKind, width: number, rows: readonly T[]): Generator<readonly T[]> {
  const most = Math.max(1, Math.floor(mostParameters[kind] / width))
  let from = 0
  for (const rule of statementRows[kind]) {
    const size = Math.min(most, rule === 0 ? Math.max(1, rows.length - from) : rule)
    for (; rows.length - from >= size; from += size) yield rows.slice(from, from + size)
  }
  // Where a row is so wide that no statement holds as many rows as the sizes say.
  for (; from < rows.length; from += most) yield rows.slice(from, from + most)
}

function compile(db: Db, kind: DatabaseKind, shape: Shape, size: number): string {
  const { table, columns } = shape
  const row = sql`(${sql.join(columns.map(({ type }) => bound(kind, type, null)))})`
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const text = sql`
    insert into ${sql.table(table)} (${names}) values ${sql.join(Array.from({ length: size }, () => row))}
    on conflict (${sql.join(tables[table].key.map((name) => sql.ref(name)))}) do update set ${assignments(shape)}
    where ${guard(shape)} ${shape.returning === null ? sql`` : sql`returning ${sql.ref(shape.returning)}`}`
  return text.compile(db).sql
}

/** `deleted_at` is in no row, so what is proposed for it is null: a row that came exists. */
function assignments({ table, columns }: Shape) {
  const key: readonly string[] = tables[table].key
  const names = columns.map(({ name }) => name).filter((name) => !key.includes(name))
  const all = vanishes(table) ? [...names, 'deleted_at'] : names
  return sql.join(all.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`))
}

function guard({ table, newerBy }: Shape) {
  const stored = (name: string) => sql.ref(`${table}.${name}`)
  const different = sql`excluded.raw is distinct from ${stored('raw')}`
  const back = vanishes(table) ? sql` or ${stored('deleted_at')} is not null` : sql``
  const newer =
    newerBy === null
      ? sql``
      : sql` and (${stored(newerBy)} is null or ${sql.ref(`excluded.${newerBy}`)} >= ${stored(newerBy)})`
  return sql`(${different}${back}) and excluded.asked_at >= ${stored('asked_at')}${newer}`
}

function vanishes(table: MirroredTable): boolean {
  return 'deleted_at' in tables[table].columns
}
