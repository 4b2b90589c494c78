/** A file of wishes, JSON Lines or CSV → its lines, one at a time. */
import { createCsvParser } from './csv.ts'
import { jsonLinesParser } from './jsonl.ts'
import type { ImportLine, LineParser } from './import-line.ts'
import { readTextLines } from './line-reader.ts'

/** `auto` tells by the first character that is no white space. */
export type ImportFormat = 'jsonl' | 'csv' | 'auto'

/** A mistake is a line too, and the others are read all the same. Blank lines, and CSV's header, are none. */
export async function* parseLines(bytes: AsyncIterable<Uint8Array>, format: ImportFormat = 'auto'): AsyncGenerator<ImportLine> {
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
  // A list in brackets is no JSON Lines, but it is no CSV either, and the mistakes of JSON Lines say what is wrong.
  return /^\s*[{[]/.test(firstLine) ? jsonLinesParser : createCsvParser()
}
