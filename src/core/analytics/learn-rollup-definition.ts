/** Which candidate a number of the service's rollup is: learned from the days on which both are equal. */
import { isEqualAsShown, toleranceOf, type Verdict } from './compare-rollup-day.ts'
import type { Candidate } from './rollup-definitions.ts'

export type LearnedDefinition = {
  readonly verdict: Verdict
  /** The candidate that fits best; null without candidates or days. */
  readonly best: Candidate | null
  readonly days: number
  readonly days_equal: number
  /** Different values of the service on these days. */
  readonly distinct_values: number
  /** Other candidates with the same values on all days. */
  readonly as_good: number
  /** Days on which the best candidate with other values is equal. */
  readonly next_best_equal: number
  readonly mean_difference: number | null
}

/** Below them a candidate can fit by accident. */
const proof = { days: 14, distinctValues: 5, lead: 3 }
/** With fewer final days nothing is likely. */
export const minFinalDays = 7
const likelihood = { days: minFinalDays, distinctValues: 3, lead: 1, equalShare: 0.95 }

type Score = { readonly candidate: Candidate; readonly daysEqual: number; readonly meanDifference: number }

/** A day on which the service's number counts. */
type ComparedDay = { readonly index: number; readonly value: number; readonly tolerance: number }

/**
 * `serviceValues`: one for each value of the candidates, oldest first; null = the day is not final, or lacks the number.
 * `proven`: the definition that was proven before. It stays until another one is proven, so that a day that differs shows.
 */
export function learnDefinition(
  serviceValues: readonly (number | null)[],
  candidates: readonly Candidate[],
  proven: string | null = null,
): LearnedDefinition {
  const days = serviceValues.flatMap((value, index): ComparedDay[] =>
    value === null ? [] : [{ index, value, tolerance: toleranceOf(value) }],
  )
  const learned = learnFrom(days, candidates, proven)
  if (learned.verdict !== 'unknown') return learned
  // The service may have changed what it counts: the days since then prove the new definition.
  const latest = learnFrom(days.slice(-proof.days), candidates, proven)
  return latest.verdict === 'proven' ? latest : learned
}

function learnFrom(
  days: readonly ComparedDay[],
  candidates: readonly Candidate[],
  proven: string | null,
): LearnedDefinition {
  const evidence = { days: days.length, distinct_values: new Set(days.map(({ value }) => value)).size }
  const scores = days.length === 0 ? [] : candidates.map((candidate) => scoreOf(candidate, days))
  const first = bestOf(scores)
  if (first === null) {
    const none = { days_equal: 0, as_good: 0, next_best_equal: 0, mean_difference: null }
    return { verdict: 'unknown', best: null, ...evidence, ...none }
  }
  const describe = (best: Score): LearnedDefinition => {
    let [same, nextBestEqual] = [0, 0]
    for (const score of scores) {
      if (isSame(score, best, days)) same++
      else nextBestEqual = Math.max(nextBestEqual, score.daysEqual)
    }
    const fit = { days_equal: best.daysEqual, next_best_equal: nextBestEqual }
    return {
      verdict: verdictOf({ ...evidence, ...fit }),
      best: best.candidate,
      ...evidence,
      ...fit,
      as_good: same - 1,
      mean_difference: best.meanDifference,
    }
  }
  const learned = describe(first)
  const before = scores.find(({ candidate }) => candidate.name === proven)
  if (before === undefined || (learned.verdict === 'proven' && !isSame(before, first, days))) return learned
  return describe(before)
}

/** Whether some definition could be proven with them. */
export function isEnoughToProve({
  days,
  distinct_values,
}: Pick<LearnedDefinition, 'days' | 'distinct_values'>): boolean {
  return days >= proof.days && distinct_values >= proof.distinctValues
}

type Evidence = Pick<LearnedDefinition, 'days' | 'days_equal' | 'distinct_values' | 'next_best_equal'>

function verdictOf({ days, days_equal, distinct_values, next_best_equal }: Evidence): Verdict {
  const meets = (needed: typeof proof) =>
    days >= needed.days && distinct_values >= needed.distinctValues && days_equal - next_best_equal >= needed.lead
  if (days_equal === days && meets(proof)) return 'proven'
  return days_equal >= likelihood.equalShare * days && meets(likelihood) ? 'likely' : 'unknown'
}

function scoreOf(candidate: Candidate, days: readonly ComparedDay[]): Score {
  let daysEqual = 0
  let difference = 0
  for (const { index, value, tolerance } of days) {
    const own = ownValue(candidate, index)
    if (isEqualAsShown(value, own, tolerance)) daysEqual++
    difference += Math.abs(value - (own ?? 0))
  }
  return { candidate, daysEqual, meanDifference: difference / days.length }
}

/** Null: there is none. */
export function ownValue({ values, divisor }: Candidate, index: number): number | null {
  const value = (values[index] ?? Number.NaN) / divisor
  return Number.isNaN(value) ? null : value
}

/** There are thousands of scores for each number, so they are not sorted. */
function bestOf(scores: readonly Score[]): Score | null {
  let best: Score | null = null
  for (const score of scores) if (best === null || compareScores(score, best) < 0) best = score
  return best
}

/** The best one first. */
function compareScores(a: Score, b: Score): number {
  return (
    b.daysEqual - a.daysEqual ||
    a.meanDifference - b.meanDifference ||
    a.candidate.complexity - b.candidate.complexity ||
    (a.candidate.name < b.candidate.name ? -1 : 1)
  )
}

/** Of definitions with the same values on all days, one is as good as the other. */
function isSame(a: Score, b: Score, days: readonly ComparedDay[]): boolean {
  if (a.daysEqual !== b.daysEqual || a.meanDifference !== b.meanDifference) return false
  return days.every(({ index }) => (ownValue(a.candidate, index) ?? 0) === (ownValue(b.candidate, index) ?? 0))
}
