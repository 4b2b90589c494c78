/**
 * Writes the lists of tables and views in the documentation: those of the mirror into docs/warehouse.md, those for
 * analysts into docs/analytics-objects.md. `--check` only checks that both are current.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { analyticsObjects } from './analytics-views/layer.ts'
import { renderObject } from './analytics-views/render-objects.ts'
import { type ColumnType, sqlTypes } from './column-types.ts'
import { type ColumnSpec, type TableSpec, tables } from './tables.ts'

const endMarker = '<!-- end of what is made -->'

type MadePart = { readonly file: string; readonly startMarker: string; readonly render: () => string }

const parts: readonly MadePart[] = [
  {
    file: 'docs/warehouse.md',
    startMarker: '<!-- made from schema/tables.ts by `node schema/dictionary.ts` -->',
    render: () => Object.entries<TableSpec>(tables).filter(isOfTheMirror).map(renderTable).join('\n'),
  },
  {
    file: 'docs/analytics-objects.md',
    startMarker: '<!-- made from schema/analytics-views/layer.ts by `node schema/dictionary.ts` -->',
    render: () => analyticsObjects.map(renderObject).join('\n'),
  },
]

function isOfTheMirror([name]: [string, TableSpec]): boolean {
  return analyticsObjects.every((object) => object.name !== name)
}

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

function replaceMadePart({ file, startMarker, render }: MadePart, text: string): string {
  const [before, afterStart] = text.split(startMarker)
  const after = afterStart?.split(endMarker)[1]
  if (before === undefined || after === undefined) throw new Error(`${file} lacks the start or end marker`)
  return `${before}${startMarker}\n\n${render()}\n${endMarker}${after}`
}

for (const part of parts) {
  const target = new URL(`../${part.file}`, import.meta.url)
  const text = readFileSync(target, 'utf8')
  const fresh = replaceMadePart(part, text)
  if (!process.argv.includes('--check')) {
    writeFileSync(target, fresh)
  } else if (text !== fresh) {
    process.stderr.write(`${part.file} is out of date: run node schema/dictionary.ts\n`)
    process.exitCode = 1
  }
}
