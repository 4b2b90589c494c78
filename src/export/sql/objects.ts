/** Tables and views with their columns, as the database has them, so that new ones need no code. */
import { type RawBuilder, sql } from 'kysely'
import {
  columnTypeOf,
  columnTypes,
  type DatabaseKind,
  type FieldType,
  plainType,
} from '../../../schema/column-types.ts'
import { searchIndexTable } from '../../../schema/console-tables.ts'
import { streamSpecs } from '../../../schema/stream-specs.ts'
import { type TableSpec, tables } from '../../../schema/tables.ts'
import type { AnalyticsView } from '../../analytics/analytics.ts'
import { analyticsViews } from '../../analytics/views/all-views.ts'
import type { LocalReads } from '../../warehouse/connection-pool.ts'
import { isInSchema, quoteName } from '../../warehouse/dialect.ts'
import type { SnapshotReader } from '../../warehouse/transactions.ts'
import type { ExportColumn, ExportObject, ExportType, ObjectName } from '../core/selection.ts'

const specs: Readonly<Record<string, TableSpec>> = tables
const views: Readonly<Record<string, AnalyticsView>> = analyticsViews
const storedViews = Object.keys(specs).filter((name) => specs[name]?.storedIn !== undefined)
/** Nobody is to read them. */
const storingTables = storedViews.flatMap((name) => specs[name]?.storedIn ?? [])

export type SourceObject = Omit<ExportObject, 'columns'> & {
  /** `declared`: the database's own type, which decides how Postgres is asked for the values. */
  readonly columns: readonly (ExportColumn & { readonly declared: string })[]
}

export function listObjects(
  run: SnapshotReader,
  kind: DatabaseKind,
): Promise<readonly ObjectName[]> {
  const views = sql.join(storedViews)
  const hidden = sql.join([searchIndexTable, ...storingTables])
  return run(
    kind === 'postgres'
      ? sql<ObjectName>`
    select relname as name, case when relkind in ('v', 'm') and relname not in (${views})
    then 'view' else 'table' end as kind
    from pg_class where ${isInSchema}
      and relkind in ('r', 'p', 'f', 'v', 'm') and relname not in (${hidden})
      and has_table_privilege(oid, 'select')
    order by relname`
      : sql<ObjectName>`
    select name, case when name in (${views}) then 'table' else type end as kind from sqlite_master
    where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'
      and name not glob ${`${searchIndexTable}*`} and name not in (${hidden}) order by name`,
  )
}

type CatalogColumn = {
  readonly name: string
  readonly declared: string
  readonly key_position: number
}

/** `local`: of SQLite; absent for Postgres. */
export async function describeObject(
  run: SnapshotReader,
  local: LocalReads | undefined,
  { name, kind }: ObjectName,
): Promise<SourceObject> {
  const found = await run(local === undefined ? postgresColumns(name) : sqliteColumns(name))
  const schemaType = await readSchemaTypes(run)
  const types =
    local === undefined
      ? found.map(
          ({ name: column, declared }) => schemaType(name, column) ?? typeOfDeclaration(declared),
        )
      : await sqliteTypes(run, local, name, found, schemaType)
  const columns = found.map(({ name: column, declared }, n) => ({
    name: column,
    declared,
    type: types[n] ?? 'text',
  }))
  return { name, kind, columns, key: keyOf(name, found) }
}

function postgresColumns(name: string): RawBuilder<CatalogColumn> {
  return sql`
    select a.attname as name, format_type(a.atttypid, null) as declared,
      coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) as key_position
    from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
    where c.relname = ${name} and ${isInSchema}
      and a.attnum > 0 and not a.attisdropped order by a.attnum`
}

function sqliteColumns(name: string): RawBuilder<CatalogColumn> {
  return sql`
    select name, type as declared, pk as key_position from pragma_table_xinfo(${name})
    where hidden <> 1 order by cid`
}

/** Of a view's column, the type of the table's column; of an expression, that of its values. */
async function sqliteTypes(
  run: SnapshotReader,
  { columnOrigins }: LocalReads,
  name: string,
  columns: readonly CatalogColumn[],
  schemaType: (object: string, column: string) => ExportType | undefined,
): Promise<readonly (ExportType | undefined)[]> {
  const names = columns.map((column) => quoteName(column.name)).join(', ')
  const origins = await columnOrigins(`select ${names} from ${quoteName(name)}`)
  const types = columns.map((column, n) => {
    const { table = null, column: origin = null, declaredType = null } = origins[n] ?? {}
    const ofOrigin = table === null || origin === null ? undefined : schemaType(table, origin)
    return (
      schemaType(name, column.name) ??
      ofOrigin ??
      typeOfDeclaration(declaredType ?? column.declared)
    )
  })
  const untyped = columns.map((column) => column.name).filter((_, n) => types[n] === undefined)
  const byValues = await typesOfValues(run, name, untyped)
  return columns.map((column, n) => types[n] ?? byValues.get(column.name))
}

/** The narrowest type that all values of each column have. */
async function typesOfValues(
  run: SnapshotReader,
  object: string,
  columns: readonly string[],
): Promise<ReadonlyMap<string, ExportType>> {
  if (columns.length === 0) return new Map()
  const widest = columns.map((column, n) => {
    const rank = sql`case typeof(${sql.id(column)}) when 'null' then 0 when 'integer' then 1
      when 'real' then 2 else 3 end`
    return sql`max(${rank}) as ${sql.ref(`c${n}`)}`
  })
  const [row = {}] = await run(
    sql<Record<string, number | null>>`select ${sql.join(widest)} from ${sql.id(object)}`,
  )
  const typesByRank: readonly ExportType[] = ['text', 'integer', 'number', 'text']
  return new Map(columns.map((column, n) => [column, typesByRank[row[`c${n}`] ?? 0] ?? 'text']))
}

/** A table that is a view of another has its key. */
function keyOf(name: string, columns: readonly CatalogColumn[]): readonly string[] {
  const { key, storedIn } = specs[name] ?? {}
  if (key !== undefined && storedIn !== undefined) return key
  return columns
    .filter((column) => column.key_position > 0)
    .sort((a, b) => a.key_position - b.key_position)
    .map(({ name }) => name)
}

/** As the schema describes them: SQLite's declarations do not tell times and JSON from text. */
async function readSchemaTypes(run: SnapshotReader) {
  const rows = await run(sql<{
    stream: keyof typeof streamSpecs
    column_name: string
    type: FieldType
  }>`
    select stream, column_name, type from discovered_fields where column_name is not null`)
  const discovered = new Map(
    rows.map(({ stream, column_name: column, type }) => [
      `${streamSpecs[stream].table}.${column}`,
      columnTypeOf(type),
    ]),
  )
  return (object: string, column: string): ExportType | undefined => {
    const [declared] = specs[object]?.columns[column] ?? []
    const ofTable = declared && plainType[declared]
    const type =
      ofTable ?? views[object]?.columns[column]?.type ?? discovered.get(`${object}.${column}`)
    return type === undefined ? undefined : columnTypes[type].exported
  }
}

/** By the database's own name of a type, in lower case. */
const declaredTypes: readonly (readonly [RegExp, ExportType])[] = [
  [/^(big|small)?int(eger)?$/, 'integer'],
  [/^(real|double precision|double|float|numeric)$/, 'number'],
  [/^bool(ean)?$/, 'boolean'],
  [/^(timestamp|datetime)( with(out)? time zone)?$/, 'time'],
  [/^date$/, 'date'],
  [/^jsonb?$/, 'json'],
  [/^(text|varchar|character varying|uuid)/, 'text'],
]

/** Undefined for an expression in SQLite, which has no declared type. */
function typeOfDeclaration(declared: string | null): ExportType | undefined {
  return declaredTypes.find(([pattern]) => pattern.test((declared ?? '').toLowerCase()))?.[1]
}
