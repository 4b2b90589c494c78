/**
 * Writes the rows of an import that have mistakes to a file, each with its row number and the
 * reason, in the form of the imported file: the spreadsheet that saved that opens this as well.
 * Corrected, it can be imported as it is.
 */
import { formatOfPath } from '../export/core/formats.ts'
import type { OutputFile, OutputOptions, RowWriter } from '../export/export.ts'
import { createOutputFile, rejectOutput } from '../export/output-file.ts'
import { defuse } from '../export/writers/csv-writer.ts'
import { createSpreadsheetWriter } from '../export/writers/row-writers.ts'
import { mistakeText, type RequestMistake } from '../outbox/core/writeback-request.ts'
import { asJsonObject, type Json, stringifyJson, tryParseJson } from '../values/json.ts'
import { toCsvCell, toHarmlessCell } from './csv-cells.ts'
import { jsonLineColumn, mistakeColumns, requestColumns } from './csv-header-words.ts'
import type { FileForm } from './file-form.ts'
import type { ImportLine } from './parse-lines.ts'

export type MistakesTarget = OutputOptions & { readonly path: string }

/** Throws UserError if the file may not be written, also if there is nothing to write. */
export function createMistakesFile({ path, ...options }: MistakesTarget, form: FileForm) {
  rejectOutput(path, options)
  let file: OutputFile | null = null
  let writer: RowWriter | null = null
  let rows = 0
  return {
    async write({ source, row }: ImportLine, mistakes: readonly RequestMistake[]): Promise<void> {
      if (source.format === 'csv header') return
      // A file without mistakes leaves the file of an earlier import as it is.
      file ??= await createOutputFile(path, options)
      writer ??= openRows(file, [...mistakeColumns, ...toHeaderCells(source)], form)
      rows += 1
      const reasons = defuse(mistakes.map(toReason).join('; '))
      const cells = [String(row), reasons, ...toCells(source)]
      await writer.write([cells.map((cell) => (cell === '' ? null : cell))])
    },
    /** Gives the file its name, and returns how many rows it has. Without any there is no file. */
    async publish(): Promise<number> {
      await writer?.end()
      await file?.publish()
      return rows
    },
    /** Call it when done, also after an error. */
    discard: async () => file?.discard(),
  }
}

function toReason({ candidates, ...mistake }: RequestMistake): string {
  return `${mistakeText(mistake)}${candidates === undefined ? '' : `: ${candidates}`}`
}

type RowSource = Exclude<ImportLine['source'], { readonly format: 'csv header' }>

function toHeaderCells(source: RowSource): readonly string[] {
  if (source.format === 'jsonl') return [...requestColumns, jsonLineColumn]
  return withoutMistakes(source.header.cells, source.header.cells).map((cell) =>
    toHarmlessCell(cell, false),
  )
}

function toCells(source: RowSource): readonly string[] {
  if (source.format === 'jsonl') return toJsonCells(source.text)
  const { cells, isOwn } = source.header
  return withoutMistakes(source.cells, cells).map((cell) => toHarmlessCell(cell, isOwn))
}

/** Without the columns of an earlier file of mistakes. */
function withoutMistakes(cells: readonly string[], header: readonly string[]): readonly string[] {
  return cells.filter((_, index) => !mistakeColumns.some((column) => column === header[index]))
}

/** The fields of a JSON line; a line that is not an object as it is. */
function toJsonCells(text: string): readonly string[] {
  const fields = asJsonObject(tryParseJson(text))
  const toCell = (value: Json | undefined) => {
    if (value === undefined) return ''
    return toCsvCell(
      typeof value === 'object' && value !== null ? stringifyJson(value) : (value as string),
    )
  }
  if (fields === null) return [...requestColumns.map(() => ''), toCsvCell(text)]
  const hasOthers = Object.keys(fields).some((field) => !requestColumns.includes(field))
  return [...requestColumns.map((field) => toCell(fields[field])), hasOthers ? toCsvCell(text) : '']
}

/**
 * A workbook if the file is called so. Excel splits CSV with a byte order mark as it would have
 * saved it. UTF-16 stays UTF-16.
 */
function openRows(
  { path, output }: OutputFile,
  names: readonly string[],
  { encoding, separator, format }: FileForm,
): RowWriter {
  const columns = names.map((name) => ({ name, type: 'text' }) as const)
  const written = formatOfPath(path) === 'xlsx' ? 'xlsx' : 'csv'
  const isUtf16 = written === 'csv' && /^utf-16/.test(encoding)
  const inUtf16 = (bytes: Uint8Array) =>
    output.write(Buffer.from(Buffer.from(bytes).toString(), 'utf16le'))
  return createSpreadsheetWriter(
    'mistakes',
    columns,
    isUtf16 ? { write: inUtf16 } : output,
    { format: written, separator: format === 'jsonl' || separator === '|' ? ',' : separator },
    { escapeText: (cell) => cell, isFilledIn: true },
  )
}
