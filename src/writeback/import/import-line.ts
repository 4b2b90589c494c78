/** One line of an import, read: where it stands, and what it wishes for. */
import type { RequestParseResult } from '../../core/outbox/writeback-request.ts'
import type { TextLine } from './line-reader.ts'

/** `line`: the physical line where it begins, from 1. */
export type ImportLine = { readonly line: number; readonly result: RequestParseResult }

/** Takes a file's physical lines, one after another, and gives a line of the import where one is complete. */
export type LineParser = {
  readonly parseLine: (line: TextLine) => ImportLine | null
  /** What is left open at the end of the file. */
  readonly end: () => ImportLine | null
}

export function toMistakenLine(line: number, ...why: string[]): ImportLine {
  return { line, result: { ok: false, why } }
}
