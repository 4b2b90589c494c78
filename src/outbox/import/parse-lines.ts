/** Parses an import file, JSON Lines or CSV, line by line. */
import { asJsonObject, tryParseJson } from '../../values/json.ts'
import { toMistake } from '../core/request-mistake.ts'
import { parseRequest, type RequestParseResult } from '../core/writeback-request.ts'
import { createCsvParser, type ImportLine, type LineParser } from './csv-parser.ts'
import type { IgnoredColumns } from './csv-values.ts'
import { detectFileForm, type FileForm, headBytes, type ImportFormat } from './file-form.ts'
import { readTextLines, type TextLine } from './line-reader.ts'
import { withTextMistakes } from './spreadsheet-damage.ts'

export type ParseOptions = {
  readonly format?: ImportFormat
  /** Of a file that is not Unicode: a name that TextDecoder knows. */
  readonly encoding?: string
  readonly ignoreColumns?: IgnoredColumns
}

/** A worker that takes an upload answers others in between. */
const linesPerTurn = 500

/** Yields a line for each request or mistake. Skips blank rows and the CSV header. Throws UserError if it is not text. */
export async function* parseLines(
  bytes: AsyncIterable<Uint8Array>,
  { format, encoding, ignoreColumns }: ParseOptions = {},
): AsyncGenerator<ImportLine> {
  const { head, all } = await peek(bytes)
  const form = detectFileForm(head, format, encoding)
  const parser = form.format === 'csv' ? createCsvParser(form, ignoreColumns) : jsonLinesParser
  let parsed = 0
  for await (const textLines of readTextLines(all, form)) {
    for (const textLine of textLines) {
      parsed += 1
      if (parsed % linesPerTurn === 0) await new Promise(setImmediate)
      const line = parser.parseLine(textLine)
      if (line !== null) yield line
    }
    if (parser.isLost()) break
  }
  const last = parser.end()
  if (last !== null) yield last
}

/** The form of the file, as `parseLines` sees it. */
export async function readFileForm(
  bytes: AsyncIterable<Uint8Array>,
  { format, encoding }: ParseOptions,
): Promise<FileForm> {
  const { head } = await peek(bytes)
  return detectFileForm(head, format, encoding)
}

/** The first bytes, and all of them. */
async function peek(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly head: Uint8Array; readonly all: AsyncIterable<Uint8Array> }> {
  const iterator = bytes[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  while (size < headBytes) {
    const next = await iterator.next()
    if (next.done === true) break
    chunks.push(next.value)
    size += next.value.length
  }
  async function* rest(): AsyncGenerator<Uint8Array> {
    try {
      for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  return { head: Buffer.concat(chunks), all: rest() }
}

export const jsonLinesParser: LineParser = { parseLine: parseJsonLine, isLost: () => false, end: () => null }

function parseJsonLine({ line, text, mistake }: TextLine): ImportLine | null {
  if (mistake === null && text.trim() === '') return null
  const toLine = (result: RequestParseResult, ref: unknown = null): ImportLine => ({
    line,
    row: line,
    result,
    ref: typeof ref === 'string' ? ref : null,
    source: { format: 'jsonl', text },
  })
  if (mistake !== null) return toLine({ ok: false, mistakes: [mistake] })
  const value = tryParseJson(text)
  if (value === undefined) return toLine({ ok: false, mistakes: [toMistake(null, notJson(text))] })
  return toLine(withTextMistakes(parseRequest(value)), asJsonObject(value)?.ref)
}

function notJson(text: string): string {
  const isArray = text.trim().startsWith('[')
  return isArray ? 'is a JSON array; write one object a line, for example with: jq -c ".[]"' : 'is not JSON'
}
