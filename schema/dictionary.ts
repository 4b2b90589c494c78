/** Writes the list of tables in `docs/warehouse.md` from `tables.ts`. `--check` only checks that it is current. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type ColumnType, sqlTypes } from './column-types.ts'
import { type ColumnSpec, type TableSpec, tables } from './tables.ts'

const target = new URL('../docs/warehouse.md', import.meta.url)
const [startMarker, endMarker] = [
  '<!-- made from schema/tables.ts by `node schema/dictionary.ts` -->',
  '<!-- end of what is made -->',
]

function renderTable([name, { note, key, columns }]: [string, TableSpec]): string {
  const lines = Object.entries(columns).map(renderColumn)
  const head = [`### ${name}`, '', note, '', `Key: ${key.map((column) => `\`${column}\``).join(', ')}`, '']
  return [...head, '| column | SQLite | Postgres | |', '|---|---|---|---|', ...lines, ''].join('\n')
}

function renderColumn([name, [type, note]]: [string, ColumnSpec]): string {
  const bare = type.replace('?', '') as ColumnType
  // The text above the list explains the collation of keys, once.
  const [sqlite, postgres] = [sqlTypes.sqlite[bare], sqlTypes.postgres[bare].replace(/ collate .*/, '')]
  return `| \`${name}\` | ${sqlite} | ${postgres} | ${note} |`
}

function renderDictionary(text: string): string {
  const [before, afterStart] = text.split(startMarker)
  const after = afterStart?.split(endMarker)[1]
  if (before === undefined || after === undefined) throw new Error('docs/warehouse.md lacks the start or end marker')
  const dictionary = Object.entries<TableSpec>(tables).map(renderTable).join('\n')
  return `${before}${startMarker}\n\n${dictionary}\n${endMarker}${after}`
}

const text = readFileSync(target, 'utf8')
const fresh = renderDictionary(text)
if (!process.argv.includes('--check')) {
  writeFileSync(target, fresh)
} else if (text !== fresh) {
  process.stderr.write('docs/warehouse.md is out of date: run node schema/dictionary.ts\n')
  process.exitCode = 1
}
