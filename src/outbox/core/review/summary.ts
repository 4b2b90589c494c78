/** Counts reviews by what they would do, with samples: a reducer whose size rows do not change. */

import {
  type ReviewGroup,
  type ReviewSummary,
  reviewOutcomes,
  type WritebackReview,
} from './terms.ts'

const samplesPerGroup = 5
const markedSamples = 20

export function createReviewCounter() {
  const groups = new Map<string, ReviewGroup>()
  let rows = 0
  let mirrorAsOf: string | null = null
  let markedRows = 0
  const marked: WritebackReview[] = []
  return {
    add(review: WritebackReview): void {
      mirrorAsOf = rows === 0 ? review.mirrorAsOf : earlier(mirrorAsOf, review.mirrorAsOf)
      rows += 1
      if (review.marks.length > 0) markedRows += 1
      if (review.marks.length > 0 && marked.length < markedSamples) marked.push(review)
      const { outcome, action, reason } = review
      const key = `${outcome} ${action} ${reason}`
      const group = groups.get(key) ?? {
        outcome,
        action,
        reason,
        count: 0,
        changing: 0,
        blocked: 0,
        samples: [],
      }
      const { count, changing, blocked, samples } = group
      groups.set(key, {
        ...group,
        count: count + 1,
        changing: changing + (review.changes.length > 0 ? 1 : 0),
        blocked: blocked + (review.blockedBy === null ? 0 : 1),
        samples: samples.length < samplesPerGroup ? [...samples, review] : samples,
      })
    },
    summary(): ReviewSummary {
      const counts = {
        would_send: 0,
        would_change: 0,
        already_so: 0,
        stands_against: 0,
        not_known: 0,
      }
      for (const { outcome, count } of groups.values()) counts[outcome] += count
      const rank = ({ outcome }: ReviewGroup) => reviewOutcomes.indexOf(outcome)
      const sorted = [...groups.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count)
      return {
        rows,
        counts,
        groups: sorted,
        marked: { rows: markedRows, samples: [...marked] },
        mirrorAsOf,
      }
    },
  }
}

/** Null is earlier than any time. */
function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return null
  return a < b ? a : b
}
