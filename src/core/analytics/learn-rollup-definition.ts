/** Which candidate a number of the service's rollup is: learned from the days on which both are equal. */
import { isEqualAsShown, type Verdict } from './compare-rollup-day.ts'
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
const likelihood = { days: 7, distinctValues: 3, lead: 1, equalShare: 0.95 }

type Score = { readonly candidate: Candidate; readonly daysEqual: number; readonly meanDifference: number }

/** `serviceValues`: of the final days, one for each value of the candidates. */
export function learnDefinition(serviceValues: readonly number[], candidates: Iterable<Candidate>): LearnedDefinition {
  const scores = [...candidates].map((candidate) => scoreOf(candidate, serviceValues)).sort(compareScores)
  const [best] = scores
  const evidence = { days: serviceValues.length, distinct_values: new Set(serviceValues).size }
  if (best === undefined || serviceValues.length === 0) {
    const none = { days_equal: 0, as_good: 0, next_best_equal: 0, mean_difference: null }
    return { verdict: 'unknown', best: null, ...evidence, ...none }
  }
  const others = scores.filter(({ candidate }) => !hasEqualValues(candidate, best.candidate))
  const fit = { days_equal: best.daysEqual, next_best_equal: others[0]?.daysEqual ?? 0 }
  return {
    verdict: verdictOf({ ...evidence, ...fit }),
    best: best.candidate,
    ...evidence,
    ...fit,
    as_good: scores.length - others.length - 1,
    mean_difference: best.meanDifference,
  }
}

type Evidence = Pick<LearnedDefinition, 'days' | 'days_equal' | 'distinct_values' | 'next_best_equal'>

function verdictOf({ days, days_equal, distinct_values, next_best_equal }: Evidence): Verdict {
  const meets = (needed: typeof proof) =>
    days >= needed.days && distinct_values >= needed.distinctValues && days_equal - next_best_equal >= needed.lead
  if (days_equal === days && meets(proof)) return 'proven'
  return days_equal >= likelihood.equalShare * days && meets(likelihood) ? 'likely' : 'unknown'
}

function scoreOf(candidate: Candidate, serviceValues: readonly number[]): Score {
  let daysEqual = 0
  let difference = 0
  for (const [index, value] of serviceValues.entries()) {
    const own = candidate.values[index] ?? null
    if (isEqualAsShown(value, own)) daysEqual++
    difference += Math.abs(value - (own ?? 0))
  }
  return { candidate, daysEqual, meanDifference: difference / Math.max(1, serviceValues.length) }
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

function hasEqualValues(a: Candidate, b: Candidate): boolean {
  return a.values.every((value, index) => (value ?? 0) === (b.values[index] ?? 0))
}
