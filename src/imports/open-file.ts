/** A file to import, with what its columns mean, and whose conversations its rows are. */
import { toMistake } from '../outbox/core/writeback-request.ts'
import type { Outbox, ReviewSource } from '../outbox/outbox.ts'
import { nearestNames } from '../values/nearest-names.ts'
import type { ColumnRules } from '../values/private-columns.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import { toColumnKey, visitorColumns } from './csv-header-words.ts'
import { readRecords, readTextLines } from './csv-records.ts'
import { readColumns } from './csv-values.ts'
import { detectFileForm, type FileForm, type FormOptions, fileError } from './file-form.ts'
import { openImportBuffer } from './import-buffer.ts'
import { type ImportLine, type LineOptions, parseLines } from './parse-lines.ts'
import type { SoughtVisitor, VisitorMatch } from './reply-sheet.ts'
import { findVisitorConversations } from './sql/visitor-matches.ts'
import { workbookForm } from './workbook.ts'

export type ImportFile = {
  readonly buffer: Awaited<ReturnType<typeof openImportBuffer>>
  /** The file's path or name; null for standard input. */
  readonly name: string | null
  /** How it is to be read. `isRemembered`: some of `columns` were said of an earlier file. */
  readonly parse: FormOptions & LineOptions & { readonly isRemembered?: boolean }
}

export type ImportSource = Pick<ImportFile, 'name' | 'parse'> & {
  readonly source: string | AsyncIterable<Uint8Array>
}

/** Throws UserError if it cannot be read. */
export async function withImportFile<T>(
  { source, name, parse }: ImportSource,
  work: (file: ImportFile) => Promise<T>,
): Promise<T> {
  const buffer = await openImportBuffer(source)
  try {
    return await work({ buffer, name, parse })
  } finally {
    await buffer.close()
  }
}

export function readImportLines(
  file: ImportFile,
  more: LineOptions = {},
): AsyncGenerator<ImportLine> {
  return parseLines(file.buffer.read(), formOf(file), { ...file.parse, ...more })
}

export function formOf({ buffer, parse }: ImportFile): FileForm {
  return buffer.isWorkbook ? workbookForm : detectFileForm(buffer.head, parse)
}

/**
 * The file with what it takes to read it: what its columns meant in the last file that had these,
 * and whose conversations its addresses and names are. Both are found once, so that all reads of
 * the file agree.
 */
export async function prepareFile(
  context: ProjectDb,
  outbox: Pick<Outbox, 'listColumnMaps'>,
  given: ImportFile,
  columnRules: ColumnRules,
): Promise<ImportFile> {
  const head = await readHead(given)
  requireHeaders(given, head?.columns ?? [])
  if (head === null) return given
  const unknown = head.columns.filter(({ meaning }) => meaning === null).map(({ key }) => key)
  const earlier = unknown.length === 0 ? [] : await outbox.listColumnMaps()
  const remembered = earlier.find((map) => unknown.every((key) => Object.hasOwn(map, key))) ?? {}
  const known = Object.entries(remembered).filter(([name]) =>
    head.columns.some(({ key }) => key === name),
  )
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
  const matches = await context.retry.run(() =>
    findVisitorConversations(context, [...sought.values()], columnRules),
  )
  const found = new Map([...sought.keys()].map((key, index) => [key, matches[index]]))
  const findConversation = (visitor: SoughtVisitor) =>
    found.get(JSON.stringify(visitor)) ?? note(visitor)
  return { ...file, parse: { ...file.parse, findConversation } }
}

/** A mistyped name would leave a column unread, or read it although it is to be left out. */
function requireHeaders(
  { parse: { namedHeaders = [] } }: ImportFile,
  columns: readonly { readonly title: string; readonly key: string }[],
): void {
  const keys = ['', ...columns.map(({ key }) => key)]
  const missing = namedHeaders.find((name) => !keys.includes(toColumnKey(name)))?.trim()
  if (missing === undefined) return
  const titles = columns.map(({ title }) => title)
  const near = nearestNames(missing, titles)
  const next =
    titles.length === 0
      ? 'leave out --map and --ignore-columns: it names no columns'
      : near.length > 0
        ? `did you mean ${near.join(' or ')}?`
        : `its first row is: ${titles.slice(0, titlesShown).join(', ')}`
  throw fileError(`it has no column ${missing}`, next)
}

const titlesShown = 30

const exampleRows = 20

/**
 * The columns of a CSV file, each with its likely meaning and its first value; null: it has none.
 */
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
    title: cell.trim(),
    key: toColumnKey(cell),
    meaning: likely[index] ?? null,
    example: others.map((row) => row[index]?.trim() ?? '').find((value) => value !== '') ?? '',
  }))
  return { cells, columns: columns.filter(({ key }) => key !== '') }
}

/** What its valid rows would do. `expiresAt`: the default for rows without an expiry. */
export function fileSource(file: ImportFile, expiresAt: string | null): ReviewSource {
  return {
    batch: null,
    async *rows() {
      let place = 0
      for await (const { row: position, result } of readImportLines(file)) {
        if (!result.ok) continue
        place += 1
        const request = { ...result.request, expiresAt: result.request.expiresAt ?? expiresAt }
        const { operation, target } = request
        yield {
          position,
          place,
          operation,
          target,
          request: { ok: true, request },
          queued: null,
        }
      }
    },
  }
}
