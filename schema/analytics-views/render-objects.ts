/** The objects for analysts as Markdown, for docs/analytics-objects.md. */
import type { ColumnType } from '../column-types.ts'
import type { ViewColumn } from './analytics-view.ts'
import type { AnalyticsObject } from './layer.ts'
import { relationOf } from './relations.ts'

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
  const kind = aggregation === 'sum' ? 'sum' : 'as it is'
  return unit === null ? kind : `${kind}, ${unit === 'seconds' ? 's' : 'share'}`
}
