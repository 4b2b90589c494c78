/** Parses an import file, JSON Lines or CSV, line by line. */
import { tryParseJson } from '../../core/json.ts'
import { parseRequest } from '../../core/outbox/writeback-request.ts'
import { createCsvParser } from './csv.ts'
import { type ImportLine, type LineParser, toMistakenLine } from './import-line.ts'
import { readTextLines, type TextLine } from './line-reader.ts'

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
