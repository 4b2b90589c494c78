/** A row of an import file, parsed: the request or its mistakes, and where it stands in the file. */
import type { RequestParseResult } from '../../core/outbox/writeback-request.ts'
import type { CsvHeader } from './csv-header.ts'
import type { TextLine } from './line-reader.ts'

export type ImportLine = {
  /** The number of its first physical line, from 1. */
  readonly line: number
  /** As a spreadsheet numbers it, where the header is row 1; of JSON Lines the line. */
  readonly row: number
  readonly result: RequestParseResult
  /** The row's own key, also if the row has mistakes. */
  readonly ref: string | null
  /** What the file has there. */
  readonly source: LineSource
}

export type LineSource =
  | { readonly format: 'csv'; readonly header: CsvHeader; readonly cells: readonly string[] }
  | { readonly format: 'csv header'; readonly cells: readonly string[] }
  | { readonly format: 'jsonl'; readonly text: string }

/** Parses physical lines one after another, and returns a row when one is complete. */
export type LineParser = {
  readonly parseLine: (line: TextLine) => ImportLine | null
  /** A quote has been open for so long that what follows means nothing. */
  readonly isLost: () => boolean
  /** The row that is still open at the end of the file. */
  readonly end: () => ImportLine | null
}
