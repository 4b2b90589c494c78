/** JSON Lines: one wish a line. Blank lines are skipped. */
import { tryParseJson } from '../../core/json.ts'
import { parseRequest } from '../../core/outbox/writeback-request.ts'
import { type ImportLine, type LineParser, toMistakenLine } from './import-line.ts'
import type { TextLine } from './line-reader.ts'

export const jsonLinesParser: LineParser = { parseLine: parseJsonLine, end: () => null }

function parseJsonLine({ line, text, mistake }: TextLine): ImportLine | null {
  if (mistake !== null) return toMistakenLine(line, mistake)
  if (text.trim() === '') return null
  const value = tryParseJson(text)
  return value === undefined ? toMistakenLine(line, 'is not JSON') : { line, result: parseRequest(value) }
}
