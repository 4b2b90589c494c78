/** What an import needs besides the file: what its columns mean, and whose conversations its addresses and names are. */
import { toMistake } from '../core/request-mistake.ts'
import type { Outbox } from '../sql/outbox.ts'
import { toColumnKey, visitorColumns } from './csv-cells.ts'
import { readRecords } from './csv-records.ts'
import { readColumns } from './csv-values.ts'
import { formOf, type ImportFile, readImportLines } from './import-file.ts'
import { readTextLines } from './line-reader.ts'
import type { SoughtVisitor, VisitorMatch } from './reply-sheet.ts'

/**
 * The file with what it takes to read it: what its columns meant in the last file that had these, and whose conversations its
 * addresses and names are. Both are found once, so that all reads of the file agree.
 */
export async function prepareFile(
  outbox: Pick<Outbox, 'listColumnMaps' | 'findVisitorConversations'>,
  given: ImportFile,
): Promise<ImportFile> {
  const head = await readHead(given)
  if (head === null) return given
  const unknown = head.columns.filter(({ meaning }) => meaning === null).map(({ key }) => key)
  const earlier = unknown.length === 0 ? [] : await outbox.listColumnMaps()
  const remembered = earlier.find((map) => unknown.every((key) => Object.hasOwn(map, key))) ?? {}
  const known = Object.entries(remembered).filter(([name]) => head.columns.some(({ key }) => key === name))
  const columns = { ...Object.fromEntries(known), ...given.parse.columns }
  const file = { ...given, parse: { ...given.parse, columns, isRemembered: known.length > 0 } }
  const sought = new Map<string, SoughtVisitor>()
  const note = (visitor: SoughtVisitor): VisitorMatch => {
    sought.set(JSON.stringify(visitor), visitor)
    return { mistake: toMistake(null, 'is still to be found') }
  }
  const { isSheet, meant } = readColumns(head.cells, columns)
  const isSought = isSheet && visitorColumns.some((column) => meant.includes(column))
  if (!isSought || file.parse.findConversation !== undefined) return file
  for await (const _ of readImportLines(file, { findConversation: note }));
  const matches = await outbox.findVisitorConversations([...sought.values()])
  const found = new Map([...sought.keys()].map((key, index) => [key, matches[index]]))
  const findConversation = (visitor: SoughtVisitor) => found.get(JSON.stringify(visitor)) ?? note(visitor)
  return { ...file, parse: { ...file.parse, findConversation } }
}

const exampleRows = 20

/** The columns of a CSV file, each with its likely meaning and its first value; null: it has none. */
export async function readHead(file: ImportFile) {
  const form = formOf(file)
  if (form.format !== 'csv') return null
  const rows: (readonly string[])[] = []
  for await (const { cells } of readRecords(readTextLines(file.buffer.read(), form), form)) {
    if (cells.some((cell) => cell.trim() !== '')) rows.push(cells)
    if (rows.length > exampleRows) break
  }
  const [cells, ...others] = rows
  if (cells === undefined) return null
  const { likely } = readColumns(cells, file.parse.columns)
  const columns = cells.map((cell, index) => ({
    ...{ title: cell.trim(), key: toColumnKey(cell), meaning: likely[index] ?? null },
    example: others.map((row) => row[index]?.trim() ?? '').find((value) => value !== '') ?? '',
  }))
  return { cells, columns: columns.filter(({ key }) => key !== '') }
}
