/** Validates every line of an import before any is queued. */
import type { LineMistake } from '../../core/outbox/reports.ts'
import { expiryMistakes } from '../../core/outbox/writeback-request.ts'
import type { EpochMs } from '../../core/time.ts'
import type { ImportLine } from './parse-lines.ts'
import { createRefIndex, type RefIndex } from './ref-index.ts'

type CheckResult = {
  /** Number of lines without a mistake. */
  readonly validLines: number
  /** The first mistakes, in file order. */
  readonly mistakes: readonly LineMistake[]
  /** Number of lines with a mistake, including those not listed in `mistakes`. */
  readonly mistakenLines: number
}

/** A file with wrong columns has a mistake in every line, and no one reads more than this. */
const maxReportedMistakes = 100

export async function checkLines(lines: AsyncIterable<ImportLine>, now: EpochMs): Promise<CheckResult> {
  const refIndex = createRefIndex()
  const mistakes: LineMistake[] = []
  let [validLines, mistakenLines] = [0, 0]
  for await (const { line, result } of lines) {
    const why = result.ok
      ? [...repeatedRefMistake(line, result.request.ref, refIndex), ...expiryMistakes(result.request, now)]
      : result.why
    if (why.length === 0) validLines += 1
    else mistakenLines += 1
    if (why.length > 0 && mistakes.length < maxReportedMistakes) mistakes.push({ line, why })
  }
  return { validLines, mistakes, mistakenLines }
}

/** Only one of the two lines would be queued, and it is unclear which one was meant. */
function repeatedRefMistake(line: number, ref: string | null, refIndex: RefIndex): readonly string[] {
  const first = ref === null ? line : refIndex.firstLine(ref, line)
  return first === line ? [] : [`ref: is also used in line ${first}`]
}
