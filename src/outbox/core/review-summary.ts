/** Counts reviews by what they would do, with samples of each group. Pure: a reducer whose size the rows do not change. */

import { type ReviewAction, type ReviewOutcome, type ReviewReason, reviewOutcomes } from './review.ts'
import type { CheckedReview } from './review-check.ts'

export type ReviewGroup = {
  readonly outcome: ReviewOutcome
  readonly action: ReviewAction
  readonly reason: ReviewReason | null
  readonly count: number
  /** How many of them would also change a field: replies that reopen a handled conversation. */
  readonly changing: number
  /** How many wait until a person resolves an uncertain write-back. */
  readonly blocked: number
  /** The first ones. */
  readonly samples: readonly CheckedReview[]
}

/** Rows that were checked with the service. Times are RFC 3339. */
type CheckSummary = {
  readonly rows: number
  readonly oldestAt: string | null
  /** Where the service shows something else than the mirror. */
  readonly differing: number
  /** The first ones that differ. */
  readonly samples: readonly CheckedReview[]
}

export type ReviewSummary = {
  readonly rows: number
  readonly counts: Readonly<Record<ReviewOutcome, number>>
  /** In the order of the outcomes; within one, the largest first. */
  readonly groups: readonly ReviewGroup[]
  readonly checks: CheckSummary
}

const samplesPerGroup = 5
const differingSamples = 20

const noChecks: CheckSummary = { rows: 0, oldestAt: null, differing: 0, samples: [] }

/** Adds reviews one after another; `summary` may be read at any time. */
export function createReviewCounter() {
  const groups = new Map<string, ReviewGroup>()
  let rows = 0
  let checks = noChecks
  return {
    add(review: CheckedReview): void {
      rows += 1
      checks = addCheck(checks, review)
      const { outcome, action, reason } = review
      const key = `${outcome} ${action} ${reason}`
      const group = groups.get(key) ?? { outcome, action, reason, count: 0, changing: 0, blocked: 0, samples: [] }
      groups.set(key, addToGroup(group, review))
    },
    summary: (): ReviewSummary => ({
      rows,
      counts: countOutcomes(groups.values()),
      groups: sortGroups([...groups.values()]),
      checks,
    }),
  }
}

function addCheck(checks: CheckSummary, review: CheckedReview): CheckSummary {
  if (review.check === null) return checks
  const { checkedAt, differs } = review.check
  const { rows, oldestAt, differing, samples } = checks
  const isSample = differs && samples.length < differingSamples
  return {
    rows: rows + 1,
    oldestAt: oldestAt === null || checkedAt < oldestAt ? checkedAt : oldestAt,
    differing: differing + (differs ? 1 : 0),
    samples: isSample ? [...samples, review] : samples,
  }
}

function addToGroup(group: ReviewGroup, review: CheckedReview): ReviewGroup {
  const { count, changing, blocked, samples } = group
  return {
    ...group,
    count: count + 1,
    changing: changing + (review.changes.length > 0 ? 1 : 0),
    blocked: blocked + (review.blockedBy === null ? 0 : 1),
    samples: samples.length < samplesPerGroup ? [...samples, review] : samples,
  }
}

function countOutcomes(groups: Iterable<ReviewGroup>): ReviewSummary['counts'] {
  const counts = { would_send: 0, would_change: 0, already_so: 0, stands_against: 0, not_known: 0 }
  for (const { outcome, count } of groups) counts[outcome] += count
  return counts
}

function sortGroups(groups: readonly ReviewGroup[]): readonly ReviewGroup[] {
  const rank = ({ outcome }: ReviewGroup) => reviewOutcomes.indexOf(outcome)
  return groups.toSorted((a, b) => rank(a) - rank(b) || b.count - a.count)
}
