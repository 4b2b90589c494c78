/** The first pass over an import: every line is checked before one is queued. */
import type { LineMistake } from '../../core/outbox/reports.ts'
import { expiryMistakes } from '../../core/outbox/writeback-request.ts'
import type { EpochMs } from '../../core/time.ts'
import type { ImportLine } from './import-line.ts'
import { createRefIndex, type RefIndex } from './ref-index.ts'

export type CheckResult = {
  /** Lines without a mistake. */
  readonly validLines: number
  /** The first of them, in the file's order. */
  readonly mistakes: readonly LineMistake[]
  /** How many lines have a mistake, those that are not in `mistakes` too. */
  readonly mistakenLines: number
}

/** A file with the wrong columns has a mistake in every line; nobody reads more of them. */
const maxReportedMistakes = 100

export async function checkLines(lines: AsyncIterable<ImportLine>, now: EpochMs): Promise<CheckResult> {
  const refIndex = createRefIndex()
  const mistakes: LineMistake[] = []
  let [validLines, mistakenLines] = [0, 0]
  for await (const { line, result: read } of lines) {
    const why = read.ok ? [...repeatedRefMistake(line, read.request.ref, refIndex), ...expiryMistakes(read.request, now)] : read.why
    if (why.length === 0) validLines += 1
    else mistakenLines += 1
    if (why.length > 0 && mistakes.length < maxReportedMistakes) mistakes.push({ line, why })
  }
  return { validLines, mistakes, mistakenLines }
}

/** Only one of the two would be queued, and nobody could tell which one was meant. */
function repeatedRefMistake(line: number, ref: string | null, refIndex: RefIndex): readonly string[] {
  const first = ref === null ? line : refIndex.firstLine(ref, line)
  return first === line ? [] : [`ref: is the ref of line ${first} as well`]
}
