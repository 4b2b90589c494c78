/** A parsed line of an import. */
import type { RequestParseResult } from '../../core/outbox/writeback-request.ts'
import type { TextLine } from './line-reader.ts'

/** `line`: the number of its first physical line, from 1. */
export type ImportLine = { readonly line: number; readonly result: RequestParseResult }

/** Parses physical lines one after another, and returns an import line when one is complete. */
export type LineParser = {
  readonly parseLine: (line: TextLine) => ImportLine | null
  /** The line that is still open at the end of the file. */
  readonly end: () => ImportLine | null
}

export function toMistakenLine(line: number, ...why: string[]): ImportLine {
  return { line, result: { ok: false, why } }
}
