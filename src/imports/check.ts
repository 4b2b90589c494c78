/** The first pass over an import: every line is checked before one is queued. */
import type { Mistake } from '../core/outbox/report.ts'
import { tooLate } from '../core/outbox/wish.ts'
import type { EpochMs } from '../core/time.ts'
import type { Line } from './line.ts'
import { createRefLines, type RefLines } from './ref-lines.ts'

export type Checked = {
  /** Lines without a mistake. */
  readonly good: number
  /** The first of them, in the file's order. */
  readonly mistakes: readonly Mistake[]
  /** How many lines have a mistake, those that are not in `mistakes` too. */
  readonly mistaken: number
}

/** A file with the wrong columns has a mistake in every line; nobody reads more of them. */
const mostShown = 100

export async function checkLines(lines: AsyncIterable<Line>, now: EpochMs): Promise<Checked> {
  const refs = createRefLines()
  const mistakes: Mistake[] = []
  let [good, mistaken] = [0, 0]
  for await (const { line, read } of lines) {
    const why = read.ok ? [...repeatedRef(line, read.wish.ref, refs), ...tooLate(read.wish, now)] : read.why
    if (why.length === 0) good += 1
    else mistaken += 1
    if (why.length > 0 && mistakes.length < mostShown) mistakes.push({ line, why })
  }
  return { good, mistakes, mistaken }
}

/** Only one of the two would be queued, and nobody could tell which one was meant. */
function repeatedRef(line: number, ref: string | null, refs: RefLines): readonly string[] {
  const first = ref === null ? line : refs.firstLine(ref, line)
  return first === line ? [] : [`ref: is the ref of line ${first} as well`]
}
