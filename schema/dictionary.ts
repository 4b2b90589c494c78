/** Writes the list of tables in `docs/warehouse.md` from `tables.ts`. With `--check` it only says whether it is current. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type ColumnType, declared } from './portable.ts'
import { type ColumnSpec, type Table, tables } from './tables.ts'

const target = new URL('../docs/warehouse.md', import.meta.url)
const [start, end] = [
  '<!-- made from schema/tables.ts by `node schema/dictionary.ts` -->',
  '<!-- end of what is made -->',
]

function tableText([name, { note, key, columns }]: [string, Table]): string {
  const lines = Object.entries(columns).map(columnLine)
  const head = [`### ${name}`, '', note, '', `Key: ${key.map((column) => `\`${column}\``).join(', ')}`, '']
  return [...head, '| column | SQLite | Postgres | |', '|---|---|---|---|', ...lines, ''].join('\n')
}

function columnLine([name, [type, note]]: [string, ColumnSpec]): string {
  const bare = type.replace('?', '') as ColumnType
  // How keys are compared is said once, above the list.
  const [sqlite, postgres] = [declared.sqlite[bare], declared.postgres[bare].replace(/ collate .*/, '')]
  return `| \`${name}\` | ${sqlite} | ${postgres} | ${note} |`
}

function current(text: string): string {
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('docs/warehouse.md has lost its marks')
  const made = Object.entries<Table>(tables).map(tableText).join('\n')
  return `${before}${start}\n\n${made}\n${end}${after}`
}

const text = readFileSync(target, 'utf8')
const fresh = current(text)
if (!process.argv.includes('--check')) {
  writeFileSync(target, fresh)
} else if (text !== fresh) {
  process.stderr.write('docs/warehouse.md is not current: run node schema/dictionary.ts\n')
  process.exitCode = 1
}
