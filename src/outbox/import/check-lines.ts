/** Checks every row of an import before any is queued, and counts what is wrong. */
import { inChunks } from '../../values/chunks.ts'
import type { LineMistake } from '../core/reports.ts'
import { createMistakeCounter, type MistakeKind, mistakeText, type RequestMistake } from '../core/request-mistake.ts'
import type { WritebackRequest } from '../core/writeback-request.ts'
import type { ImportLine } from './csv-parser.ts'
import { createRowJudge, type JudgedRow, type JudgeOptions } from './judge-rows.ts'

export type CheckOptions = JudgeOptions & {
  /** Called for each row with mistakes, in file order. */
  readonly onMistaken?: (line: ImportLine, mistakes: readonly RequestMistake[]) => Promise<void>
  /** Called for each row without mistakes, in file order. `position`: its row. */
  readonly onValid?: (row: { readonly position: number } & Pick<WritebackRequest, 'operation' | 'target'>) => void
}

export type CheckResult = {
  /** The first row of a CSV file does not name the columns of an import, so no row was read. */
  readonly isHeaderMistaken: boolean
  /** Number of rows without a mistake. */
  readonly validRows: number
  /** Number of rows with a mistake, including those not listed in `mistakes`. */
  readonly mistakenRows: number
  /** The first mistakes, in file order. */
  readonly mistakes: readonly LineMistake[]
  readonly kinds: readonly MistakeKind[]
  /** Valid rows that a person should know about: repeated replies that are allowed, and refs of other write-backs. */
  readonly notices: readonly MistakeKind[]
  /** How many rows have a ref that was queued before for another write-back. */
  readonly differing: number
  /** The batch of those write-backs; null if there are several or none. */
  readonly differingBatch: string | null
  /** The columns that were let through. */
  readonly ignoredColumns: readonly string[]
}

/** No one reads more than this; kinds count all. */
const maxReportedMistakes = 100
const rowsPerLookup = 200
/** A longer row counts as several, so that those that are hardly shorter than the longest line come one by one. */
const charactersPerRow = 5_000

export async function checkLines(
  lines: AsyncIterable<ImportLine>,
  { onMistaken, onValid, ...options }: CheckOptions,
): Promise<CheckResult> {
  const judge = createRowJudge(options)
  const counter = createRowCounter()
  for await (const chunk of inChunks(lines, rowsPerLookup, weightOf)) {
    for (const judged of await judge(chunk)) {
      counter.add(judged)
      const { line, mistakes } = judged
      if (mistakes.length > 0) await onMistaken?.(line, mistakes)
      else if (line.result.ok) onValid?.({ ...line.result.request, position: line.row })
    }
  }
  return counter.result()
}

function createRowCounter() {
  const [kinds, notices] = [createMistakeCounter(), createMistakeCounter()]
  const mistakes: LineMistake[] = []
  const batches = new Set<string | null>()
  let [validRows, mistakenRows, differing] = [0, 0, 0]
  let ignoredColumns: readonly string[] = []
  let isHeaderMistaken = false
  return {
    add({ line: { line, ref, row, source }, queuedAs, ...found }: JudgedRow): void {
      if (source.format === 'csv') ignoredColumns = source.header.ignored
      if (source.format === 'csv header') isHeaderMistaken = true
      kinds.add(row, ref, found.mistakes)
      notices.add(row, ref, found.notices)
      if (found.mistakes.length === 0) validRows += 1
      else mistakenRows += 1
      if (found.mistakes.length > 0 && mistakes.length < maxReportedMistakes)
        mistakes.push({ line, row, ref, why: found.mistakes.map(mistakeText) })
      if (queuedAs === null) return
      differing += 1
      if (batches.size < 2) batches.add(queuedAs.batch)
    },
    result(): CheckResult {
      const [batch = null, ...others] = batches
      return {
        ...{ isHeaderMistaken, validRows, mistakenRows, mistakes, kinds: kinds.kinds(), notices: notices.kinds() },
        ...{ differing, differingBatch: others.length === 0 ? batch : null, ignoredColumns },
      }
    },
  }
}

function weightOf({ source }: ImportLine): number {
  const size =
    source.format === 'jsonl' ? source.text.length : source.cells.reduce((sum, { length }) => sum + length, 0)
  return 1 + size / charactersPerRow
}
