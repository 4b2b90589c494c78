/** The queries of a selection: its rows in key order, and their number. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { ExportCondition, ExportSelection } from '../../core/export.ts'
import { typedParameter } from '../database/dialect.ts'
import { encodeText } from '../database/escape.ts'
import type { SourceObject } from './objects.ts'

export function rowsQuery(kind: DatabaseKind, selection: ExportSelection, source: SourceObject): RawBuilder<unknown> {
  const columns = selection.columns.map(({ name }) => selectedColumn(kind, source, name))
  return sql`select ${sql.join(columns)} ${fromWhere(kind, selection)} order by ${sql.join(orderBy(kind, source))}`
}

export function countQuery(kind: DatabaseKind, selection: ExportSelection): RawBuilder<{ rows: number }> {
  return sql<{ rows: number }>`select count(*) as rows ${fromWhere(kind, selection)}`
}

/** The types of Postgres whose values arrive as the export needs them. */
const nativeTypes =
  /^(bigint|integer|smallint|double precision|real|numeric|boolean|timestamp with time zone|date|jsonb?|text)$/

function selectedColumn(kind: DatabaseKind, { columns }: SourceObject, name: string): RawBuilder<unknown> {
  const declared = columns.find((column) => column.name === name)?.declared ?? ''
  const isNative = kind === 'sqlite' || nativeTypes.test(declared)
  return isNative ? sql.id(name) : sql`cast(${sql.id(name)} as text) as ${sql.id(name)}`
}

/** By the key, whose index then serves; without one by all columns, compared alike in both databases. */
function orderBy(kind: DatabaseKind, { key, columns }: SourceObject): readonly RawBuilder<unknown>[] {
  if (key.length > 0) return key.map((name) => sql.id(name))
  const comparable = columns.filter(({ type }) => type !== 'json')
  return comparable.map(({ name, declared }) => {
    const collation =
      kind === 'postgres' && /^(text|char|character varying|name)/.test(declared) ? sql`collate "C"` : sql``
    return sql`${sql.id(name)} ${collation} nulls first`
  })
}

function fromWhere(kind: DatabaseKind, { object, conditions }: ExportSelection): RawBuilder<unknown> {
  const where = conditions.map((condition) => toSql(kind, condition))
  const filter = where.length === 0 ? sql`` : sql`where ${sql.join(where, sql` and `)}`
  return sql`from ${sql.id(object.name)} ${filter}`
}

function toSql(kind: DatabaseKind, { column, operator, value }: ExportCondition): RawBuilder<unknown> {
  if (value === null) return sql`${sql.id(column.name)} is null`
  const stored = typeof value === 'string' && column.type === 'text' ? encodeText(kind, value) : value
  const sqlValue = kind === 'sqlite' && typeof stored === 'boolean' ? Number(stored) : stored
  return sql`${sql.id(column.name)} ${sql.raw(operator)} ${typedParameter(kind, column.type, sqlValue)}`
}
