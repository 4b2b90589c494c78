/** An unchanged row is not written again, and an older copy never replaces a newer one. */
import { sql } from 'kysely'

import type { DatabaseKind } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import { clockToleranceSeconds } from '../../values/time.ts'
import {
  arrayInsert,
  batchesOf,
  rowsPerArrayInsert,
  rowsPerStatement,
} from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { MirrorCommit } from '../core/mirror.ts'
import type { EncodedRow } from './encode-rows.ts'
import {
  type InsertedColumn,
  type StreamTable,
  streamTables,
  valueColumns,
} from './stream-tables.ts'

/** No key may occur twice. Returns the first part of the key of each new or changed row. */
export async function upsertRows(
  { db, kind, project, clock }: ProjectDb,
  { stream, isAuthoritative = false }: MirrorCommit,
  columns: readonly InsertedColumn[],
  rows: readonly EncodedRow[],
): Promise<string[]> {
  const table = streamTables[stream]
  const key: readonly string[] = tables[table.stored].key
  const names = columns.map(({ name }) => name)
  // No row has `deleted_at`, so its excluded value is null: a row that the service returned exists.
  const updated = [
    ...names.filter((name) => !key.includes(name)),
    ...(table.hasDeletedAt ? ['deleted_at'] : []),
  ]
  const onConflict = sql`
    on conflict (${sql.join(key.map((name) => sql.ref(name)))}) do update
    set ${sql.join(updated.map((name) => sql`${sql.ref(name)} = ${excluded(name)}`))}
    where ${isDifferent(kind, table, columns)} and
    ${isNewer(table, isAuthoritative, clock() + clockToleranceSeconds * 1000)}
    returning ${sql.ref(table.firstKey)} as id`
  const stored: string[] = []
  for (const batch of batchesOf(
    rows,
    kind === 'sqlite' ? rowsPerStatement[0] : rowsPerArrayInsert,
  )) {
    const valuesOf = (name: string) => batch.map((row) => row[name] ?? null)
    const insert =
      kind === 'sqlite'
        ? rowInsert(table.stored, names, batch)
        : arrayInsert(table.stored, columns, project, valuesOf)
    const result = await sql<{ id: string }>`${insert} ${onConflict}`.execute(db)
    for (const { id } of result.rows) stored.push(id)
  }
  return stored
}

function rowInsert(
  table: StreamTable['stored'],
  names: readonly string[],
  rows: readonly EncodedRow[],
) {
  const values = rows.map((row) => sql`(${sql.join(names.map((name) => row[name] ?? null))})`)
  return sql`insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})
    values ${sql.join(values)}`
}

const excluded = (name: string) => sql.ref(`excluded.${name}`)

/** Also where only a column says something else than the row: that is corrected. */
function isDifferent(kind: DatabaseKind, table: StreamTable, columns: readonly InsertedColumn[]) {
  const stored = (name: string) => sql.ref(`${table.stored}.${name}`)
  const differs = ({ name, type }: Pick<InsertedColumn, 'name' | 'type'>) => {
    const isOther = sql`${excluded(name)} is distinct from ${stored(name)}`
    // A row that has moved here from Postgres has its fields in another order.
    return kind === 'sqlite' && type === 'json'
      ? sql`(${isOther} and canonical_json(${excluded(name)})
          is distinct from canonical_json(${stored(name)}))`
      : isOther
  }
  const values = table.hasDeletedAt ? valueColumns(table, columns) : []
  const conditions = [{ name: 'raw', type: 'json' } as const, ...values].map(differs)
  if (table.hasDeletedAt) conditions.push(sql`${stored('deleted_at')} is not null`)
  return sql`(${sql.join(conditions, sql` or `)})`
}

function isNewer(
  { stored: table, newerBy }: StreamTable,
  isAuthoritative: boolean,
  latestPossible: number,
) {
  const stored = (name: string) => sql.ref(`${table}.${name}`)
  // A row requested in the future was stored while a clock was wrong: its time orders nothing.
  const isRequestedLater = sql`(excluded.asked_at >= ${stored('asked_at')}
    or ${stored('asked_at')} > ${latestPossible})`
  if (newerBy === null || isAuthoritative) return isRequestedLater
  return sql`${isRequestedLater} and (${stored(newerBy)} is null
    or ${excluded(newerBy)} >= ${stored(newerBy)})`
}
