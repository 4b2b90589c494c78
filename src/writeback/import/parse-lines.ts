/** Parses an import file, JSON Lines or CSV, line by line. */
import { tryParseJson } from '../../core/json.ts'
import { parseRequest, type RequestParseResult } from '../../core/outbox/writeback-request.ts'
import { type CsvHeader, detectSeparator, parseHeader, toRequestFields } from './csv-columns.ts'
import { type CsvRecord, createRecordParser, type RecordParser } from './csv-records.ts'
import { readTextLines, type TextLine } from './line-reader.ts'

/** A parsed line. `line`: the number of its first physical line, from 1. */
export type ImportLine = { readonly line: number; readonly result: RequestParseResult }

/** Parses physical lines one after another, and returns an import line when one is complete. */
type LineParser = {
  readonly parseLine: (line: TextLine) => ImportLine | null
  /** The line that is still open at the end of the file. */
  readonly end: () => ImportLine | null
}

/** `auto` decides by the first non-blank character. */
export type ImportFormat = 'jsonl' | 'csv' | 'auto'

/** Yields a line for each request or mistake. Skips blank lines and the CSV header. */
export async function* parseLines(
  bytes: AsyncIterable<Uint8Array>,
  format: ImportFormat = 'auto',
): AsyncGenerator<ImportLine> {
  let parser: LineParser | undefined
  for await (const textLine of readTextLines(bytes)) {
    if (parser === undefined && textLine.mistake === null && textLine.text.trim() === '') continue
    parser ??= selectParser(format, textLine.text)
    const line = parser.parseLine(textLine)
    if (line !== null) yield line
  }
  const last = parser?.end() ?? null
  if (last !== null) yield last
}

function selectParser(format: ImportFormat, firstLine: string): LineParser {
  if (format !== 'auto') return format === 'csv' ? createCsvParser() : jsonLinesParser
  // A JSON array is neither JSON Lines nor CSV, but the JSON parser's mistakes explain it better.
  return /^\s*[{[]/.test(firstLine) ? jsonLinesParser : createCsvParser()
}

export const jsonLinesParser: LineParser = { parseLine: parseJsonLine, end: () => null }

function parseJsonLine({ line, text, mistake }: TextLine): ImportLine | null {
  if (mistake !== null) return toMistakenLine(line, mistake)
  if (text.trim() === '') return null
  const value = tryParseJson(text)
  return value === undefined ? toMistakenLine(line, 'is not JSON') : { line, result: parseRequest(value) }
}

/** An invalid header is reported as the file's only mistake, as the lines below cannot be interpreted. */
export function createCsvParser(): LineParser {
  let records: RecordParser | undefined
  let header: CsvHeader | 'invalid' | undefined
  const toLine = (record: CsvRecord | null): ImportLine | null => {
    if (record === null || header === 'invalid' || isBlankRecord(record)) return null
    if (header !== undefined) return toImportLine(record, header)
    const result = record.mistake === null ? parseHeader(record.cells) : { why: [record.mistake] }
    header = 'why' in result ? 'invalid' : result
    return 'why' in result ? toMistakenLine(record.line, ...result.why) : null
  }
  return {
    parseLine(line) {
      records ??= createRecordParser(detectSeparator(line.text))
      return toLine(records.parseLine(line))
    },
    end: () => toLine(records?.end() ?? null),
  }
}

/** Spreadsheets write a row of separators for a row that was cleared. */
function isBlankRecord({ cells, mistake }: CsvRecord): boolean {
  return mistake === null && cells.every((cell) => cell.trim() === '')
}

function toImportLine({ line, cells, mistake }: CsvRecord, header: CsvHeader): ImportLine {
  if (mistake !== null) return toMistakenLine(line, mistake)
  const hasExtraCells = cells.slice(header.length).some((cell) => cell !== '')
  if (hasExtraCells) return toMistakenLine(line, `has more cells than the header's ${header.length}`)
  return { line, result: parseRequest(toRequestFields(cells, header)) }
}

function toMistakenLine(line: number, ...why: string[]): ImportLine {
  return { line, result: { ok: false, why } }
}
