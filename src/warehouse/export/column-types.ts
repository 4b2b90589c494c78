/** The types of an object's columns: as the schema describes them, else as the database declares them. */
import { analyticsViews } from '../../../schema/analytics-views/all-views.ts'
import type { AnalyticsView } from '../../../schema/analytics-views/analytics-view.ts'
import type { ColumnType } from '../../../schema/column-types.ts'
import { type TableSpec, tables } from '../../../schema/tables.ts'
import type { ExportType } from '../../core/export.ts'

export type SchemaTypes = (object: string, column: string) => ExportType | undefined

export type DiscoveredColumn = { readonly table: string; readonly column: string; readonly type: ColumnType }

/** SQLite's declarations do not tell times and JSON from text, so the schema is asked first, for both databases. */
export function createSchemaTypes(discovered: readonly DiscoveredColumn[]): SchemaTypes {
  const byName = new Map(discovered.map(({ table, column, type }) => [`${table}.${column}`, exportTypes[type]]))
  const specs: Readonly<Record<string, TableSpec>> = tables
  const views: Readonly<Record<string, AnalyticsView>> = analyticsViews
  return (object, column) => {
    const tableType = specs[object]?.columns[column]?.[0].replace('?', '') as ColumnType | undefined
    const type = tableType ?? views[object]?.columns[column]?.type
    return type === undefined ? byName.get(`${object}.${column}`) : exportTypes[type]
  }
}

const exportTypes: Readonly<Record<ColumnType, ExportType>> = {
  key: 'text',
  text: 'text',
  integer: 'integer',
  int32: 'integer',
  number: 'number',
  boolean: 'boolean',
  time: 'time',
  uuid: 'text',
  utc_time: 'time',
  date: 'date',
  local_date: 'date',
  json: 'json',
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
export function typeOfDeclaration(declared: string | null): ExportType | undefined {
  return declaredTypes.find(([pattern]) => pattern.test((declared ?? '').toLowerCase()))?.[1]
}
