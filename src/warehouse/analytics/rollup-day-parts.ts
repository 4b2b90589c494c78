/** Reads what can only be counted with all rows of a day at once: some days at a time, so that few rows are in memory. */
import { setImmediate } from 'node:timers/promises'
import { createAnswerStatistics } from '../../core/analytics/rollup-answers.ts'
import { countDifferent } from '../../core/analytics/rollup-day-values.ts'
import { type PartOfDays, partOfDays } from '../../core/analytics/rollup-days.ts'
import { type Candidate, countCandidates } from '../../core/analytics/rollup-definitions.ts'
import type { ActiveVisitors, AnswerMeasure } from '../../core/analytics/rollup-measures.ts'
import { countWaits, readRollupAnswers } from './rollup-answers.ts'
import { type RollupRange, toRange } from './rollup-range.ts'
import { visitorReads } from './rollup-visitors.ts'

/** Rows that are in memory at once, unless one day has more. */
const rowsAtOnce = 20_000

export async function readAnswerCandidates(
  range: RollupRange,
  measures: readonly AnswerMeasure[],
): Promise<Candidate[]> {
  const statistics = createAnswerStatistics(range.days)
  for (const part of partsOf(range, await countWaits(range))) {
    const ofPart = toRange(range, part.days)
    const answers = { any: await readRollupAnswers(ofPart, 'any'), human: await readRollupAnswers(ofPart, 'human') }
    for (const measure of measures) {
      statistics.add(part, measure, answers[measure.clock])
      await setImmediate()
    }
  }
  return measures.flatMap(statistics.candidatesOf)
}

export async function readVisitorCandidates(
  range: RollupRange,
  measures: readonly ActiveVisitors[],
): Promise<Candidate[]> {
  const candidates: Candidate[] = []
  for (const measure of measures) {
    const { count, read } = visitorReads[measure.with]
    const visitors = new Float64Array(range.days.days.length)
    for (const part of partsOf(range, await count(range))) {
      part.copy(countDifferent(await read(toRange(range, part.days)), part.days), visitors)
      await setImmediate()
    }
    candidates.push(...countCandidates(measure, visitors, range.days))
  }
  return candidates
}

/** `rows`: of all days. */
function* partsOf({ days }: RollupRange, rows: number): Generator<PartOfDays> {
  const windows = days.windows.length
  const size = Math.max(1, Math.floor((windows * rowsAtOnce) / Math.max(rowsAtOnce, rows)))
  for (let first = 0; first < windows; first += size) yield partOfDays(days, first, first + size)
}
