/** A file of wishes, JSON Lines or CSV → its lines, one at a time. */
import { csvReader } from './csv.ts'
import { jsonLines } from './jsonl.ts'
import type { Line, LineReader } from './line.ts'
import { textLines } from './text-lines.ts'

/** `auto` tells by the first character that is no white space. */
export type Format = 'jsonl' | 'csv' | 'auto'

/** A mistake is a line too, and the others are read all the same. Blank lines, and CSV's header, are none. */
export async function* readLines(bytes: AsyncIterable<Uint8Array>, format: Format = 'auto'): AsyncGenerator<Line> {
  let reader: LineReader | undefined
  for await (const text of textLines(bytes)) {
    if (reader === undefined && text.flaw === null && text.text.trim() === '') continue
    reader ??= readerOf(format, text.text)
    const line = reader.take(text)
    if (line !== null) yield line
  }
  const last = reader?.end() ?? null
  if (last !== null) yield last
}

function readerOf(format: Format, firstLine: string): LineReader {
  if (format !== 'auto') return format === 'csv' ? csvReader() : jsonLines
  // A list in brackets is no JSON Lines, but it is no CSV either, and the mistakes of JSON Lines say what is wrong.
  return /^\s*[{[]/.test(firstLine) ? jsonLines : csvReader()
}
