/**
 * Rows as CSV to download: exact, and nothing of it runs in a spreadsheet. A long list is sent
 * while it is read.
 */
import { Readable } from 'node:stream'
import type { ExportValue } from '../export/export.ts'
import { createCsvWriter } from '../export/writers/csv-writer.ts'
import type { FileAnswer } from './screen.ts'

type CsvRow = readonly ExportValue[]

export function csvFile(name: string, columns: readonly string[], rows: Parts): FileAnswer {
  const content = Readable.from(encode(columns, rows))
  return { file: { name: `${name}.csv`, type: 'text/csv; charset=utf-8', content } }
}

type Parts = AsyncIterable<readonly CsvRow[]> | readonly (readonly CsvRow[])[]

async function* encode(columns: readonly string[], parts: Parts): AsyncGenerator<Uint8Array> {
  const bytes: Uint8Array[] = []
  const output = { write: async (part: Uint8Array) => void bytes.push(part) }
  const typed = columns.map((name) => ({ name, type: 'text' as const }))
  const writer = createCsvWriter(typed, output, { forSpreadsheets: true })
  for await (const rows of parts) {
    await writer.write(rows)
    yield* bytes.splice(0)
  }
  await writer.end()
  yield* bytes
}
