/** The descriptions of all objects for analysts: as Markdown for docs/reference/analytics-objects.md, and for Metabase. */
import type { ColumnType } from '../../../schema/column-types.ts'
import type { Aggregation, ViewColumn } from './analytics-view.ts'
import { type AnalyticsObject, analyticsObjects, relationOf } from './layer.ts'
import { describeColumn } from './view-columns.ts'

/** The types in plain words; the text above the list says what each is in both databases. */
const typeWords: Readonly<Record<ColumnType, string>> = {
  key: 'text',
  text: 'text',
  integer: 'integer',
  int32: 'integer',
  number: 'number',
  boolean: 'boolean',
  time: 'time',
  utc_time: 'time',
  date: 'date',
  local_date: 'date',
  json: 'JSON',
  uuid: 'text',
}

export function renderObject({ name, note, caveat, key, columns }: AnalyticsObject): string {
  const lines = Object.entries(columns).map(([column, described]) => renderColumn(name, column, described))
  const caveatLines = caveat === null ? [] : [`**Beware:** ${caveat}`, '']
  const keyList = key.map((column) => `\`${column}\``).join(', ')
  const head = [`### ${name}`, '', note, '', ...caveatLines, `Key: ${keyList}`, '']
  return [...head, '| column | type | use | |', '|---|---|---|---|', ...lines, ''].join('\n')
}

function renderColumn(object: string, name: string, column: ViewColumn): string {
  return `| \`${name}\` | ${typeWords[column.type]}${column.isNullable ? '?' : ''} | ${useOf(object, name, column)} | ${column.note} |`
}

function useOf(object: string, name: string, { role, unit, aggregation }: ViewColumn): string {
  const relation = relationOf(object, name)
  if (relation !== null) return `leads to \`${relation.object}\``
  if (role !== 'measure') return role
  const kind = combinationOf(aggregation)
  return unit === null ? kind : `${kind}, ${unit === 'seconds' ? 's' : 'share'}`
}

function combinationOf(aggregation: Aggregation): string {
  if (typeof aggregation === 'object') return `mean by ${aggregation.weightedBy.join(' + ')}`
  return aggregation === 'none' ? 'as it is' : aggregation
}

/**
 * What Metabase reads from a table `_metabase_metadata` when it syncs a database: descriptions and types of columns.
 * Source: metabase/metabase, src/metabase/sync/sync_metadata/metabase_metadata.clj, read 2026-11-21.
 */
type MetadataRow = { readonly keypath: string; readonly value: string }

export function metabaseMetadata(): MetadataRow[] {
  return analyticsObjects.flatMap(describeObject)
}

function describeObject({ name, note, caveat, columns }: AnalyticsObject): MetadataRow[] {
  return [
    { keypath: `${name}.description`, value: note },
    ...(caveat === null ? [] : [{ keypath: `${name}.caveats`, value: caveat }]),
    ...Object.entries(columns).flatMap(([column, described]) => describePath(`${name}.${column}`, described)),
  ]
}

/** Most types Metabase guesses from the names of columns. */
const semanticTypes = { seconds: 'type/Duration', share: 'type/Percentage' } as const

function describePath(path: string, column: ViewColumn): MetadataRow[] {
  const description = { keypath: `${path}.description`, value: describeColumn(column) }
  const { unit } = column
  if (unit === null) return [description]
  return [description, { keypath: `${path}.semantic_type`, value: semanticTypes[unit] }]
}
