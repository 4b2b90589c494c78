/**
 * Tables to download, as a workbook or as CSV: exact, and nothing of it runs in a spreadsheet. A
 * long one is sent while it is read.
 */
import { Readable } from 'node:stream'
import { separatorChoices } from '../export/core/formats.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportValue,
  RowWriter,
  SpreadsheetForm,
} from '../export/export.ts'
import { createSpreadsheetWriter } from '../export/writers/row-writers.ts'
import { type Html, html } from '../values/html.ts'
import type { FileAnswer, ScreenRequest } from './screen.ts'

/** Of one reading of a list that downloads. */
const rowsPerPart = 20_000

/** A part for each page of a list. */
export async function* readAllPages<Row>(
  read: (
    after: string | null,
    limit: number,
  ) => Promise<{ readonly rows: readonly Row[]; readonly next: string | null }>,
) {
  for (let after: string | null = null; ; ) {
    const { rows, next }: Awaited<ReturnType<typeof read>> = await read(after, rowsPerPart)
    yield rows
    if (next === null) return
    after = next
  }
}

type Parts<Row> = AsyncIterable<readonly Row[]> | readonly (readonly Row[])[]

/** Null: a page is asked for. */
export function parseForm(query: ScreenRequest['query']): SpreadsheetForm | null {
  const [format, asked] = [query('format'), query('separator')]
  const separator = separatorChoices.find((choice) => choice === asked) ?? ','
  return format === 'csv' || format === 'xlsx' ? { format, separator } : null
}

/** `address`: of the file in the form that the parameters name. */
export function downloadLinks(
  address: (form: Readonly<Record<string, string>>) => string,
  what = 'Download',
): Html {
  return html`<span><a class="button" href="${address({ format: 'xlsx' })}">${what} as a workbook</a>
<span class="faint">or as CSV <a href="${address({ format: 'csv' })}">with commas</a>,
  <a href="${address({ format: 'csv', separator: ';' })}">with semicolons</a></span></span>`
}

export function tableFile(
  name: string,
  columns: readonly ExportColumn[],
  rows: Parts<readonly ExportValue[]>,
  form: SpreadsheetForm,
): FileAnswer {
  const open = (output: ByteOutput) => createSpreadsheetWriter(name, columns, output, form)
  return toFile(name, open, rows, form)
}

/**
 * A list of which the columns have the names of the facts. `fields`: by column, the field of a row.
 */
export function listFile<Field extends string>(
  name: string,
  fields: Readonly<Record<string, Field>>,
  rows: AsyncIterable<readonly Readonly<Record<Field, ExportValue>>[]>,
  form: SpreadsheetForm,
): FileAnswer {
  const columns = Object.keys(fields).map((column) => ({ name: column, type: typeOf(column) }))
  return tableFile(name, columns, toCells(rows, Object.values(fields)), form)
}

function typeOf(column: string): ExportColumn['type'] {
  if (/_at$|_since$/.test(column)) return 'time'
  if (column.startsWith('is_')) return 'boolean'
  return /seconds$|_number$/.test(column) ? 'integer' : 'text'
}

async function* toCells<Field extends string>(
  parts: AsyncIterable<readonly Readonly<Record<Field, ExportValue>>[]>,
  fields: readonly Field[],
) {
  for await (const rows of parts) yield rows.map((row) => fields.map((field) => row[field]))
}

export const fileTypes = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const

export function toFile<Row extends readonly ExportValue[]>(
  name: string,
  open: (output: ByteOutput) => RowWriter,
  rows: Parts<Row>,
  { format }: SpreadsheetForm,
): FileAnswer {
  const content = Readable.from(encode(open, rows))
  return { file: { name: `${name}.${format}`, type: fileTypes[format], content } }
}

async function* encode(
  open: (output: ByteOutput) => RowWriter,
  parts: Parts<readonly ExportValue[]>,
): AsyncGenerator<Uint8Array> {
  const bytes: Uint8Array[] = []
  const writer = open({ write: async (part) => void bytes.push(part) })
  for await (const rows of parts) {
    await writer.write(rows)
    yield* bytes.splice(0)
  }
  await writer.end()
  yield* bytes
}
