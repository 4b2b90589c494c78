/** Counts reviews by what they would do, with samples of each group. Pure: a reducer whose size the rows do not change. */

import { toFieldValue } from './field-kinds.ts'
import { type Operation, operationTypes, type ReviewAction } from './operations.ts'
import type { Evidence, NamedEntry } from './outbox-entry.ts'
import {
  type FieldChange,
  type ReviewOutcome,
  type ReviewReason,
  reviewOutcomes,
  type WritebackReview,
} from './review.ts'
import type { WritebackStatus } from './state.ts'

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
  let [rows, checks] = [0, noChecks]
  return {
    add(review: CheckedReview): void {
      rows += 1
      if (review.check !== null) checks = addCheck(checks, review, review.check)
      const { outcome, action, reason } = review
      const key = `${outcome} ${action} ${reason}`
      const group = groups.get(key) ?? { outcome, action, reason, count: 0, changing: 0, blocked: 0, samples: [] }
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
      const counts = { would_send: 0, would_change: 0, already_so: 0, stands_against: 0, not_known: 0 }
      for (const { outcome, count } of groups.values()) counts[outcome] += count
      const rank = ({ outcome }: ReviewGroup) => reviewOutcomes.indexOf(outcome)
      const sorted = [...groups.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count)
      return { rows, counts, groups: sorted, checks }
    },
  }
}

function addCheck(
  checks: CheckSummary,
  review: CheckedReview,
  { checkedAt, differs }: Pick<ReviewCheck, 'checkedAt'> & { differs: boolean },
): CheckSummary {
  const { rows, oldestAt, differing, samples } = checks
  return {
    rows: rows + 1,
    oldestAt: oldestAt === null || checkedAt < oldestAt ? checkedAt : oldestAt,
    differing: differing + (differs ? 1 : 0),
    samples: differs && samples.length < differingSamples ? [...samples, review] : samples,
  }
}

export type ReviewCheck = Pick<WritebackReview, 'outcome' | 'reason' | 'why' | 'changes'> & {
  /** RFC 3339. */
  readonly checkedAt: string
}

/** Of a queued row. */
export type StoredCheck = ReviewCheck & { readonly id: string; readonly epoch: number }

/** Void once the row's epoch has changed: it was claimed, decided about or corrected. */
export type ReadCheck = StoredCheck & { readonly isVoid: boolean }

export type CheckedReview = WritebackReview & {
  /** Null if it was not checked since it last changed. */
  readonly check: (ReviewCheck & { readonly differs: boolean }) | null
}

export function withCheck(review: WritebackReview, check: ReviewCheck | null): CheckedReview {
  if (check === null) return { ...review, check: null }
  const { outcome, reason, why, changes, checkedAt } = check
  return { ...review, check: { outcome, reason, why, changes, checkedAt, differs: differs(review, check) } }
}

/** The reasons are worded differently, so only the effects are compared. */
function differs(review: WritebackReview, check: ReviewCheck): boolean {
  return review.outcome !== check.outcome || JSON.stringify(review.changes) !== JSON.stringify(check.changes)
}

/** A write-back that has left, and the last check of it. */
export type CheckedRow = {
  readonly id: string
  readonly seq: number
  readonly operation: Operation
  readonly payload: Readonly<Record<string, unknown>>
  readonly status: WritebackStatus
  /** What the service showed just before it was sent. */
  readonly before: Evidence['before']
  readonly check: StoredCheck
}

/** `changes`: what sending it changed; null if it was not done. */
export type Deviation = { readonly check: StoredCheck; readonly changes: readonly FieldChange[] | null }

/** Of the write-backs of a batch that were checked and have left. */
export type CheckedOutcomes = {
  readonly rows: number
  readonly differing: number
  /** The first ones that differ. */
  readonly samples: readonly { readonly writeback: NamedEntry; readonly deviation: Deviation }[]
}

/** Null if it did what the check had shown, or if that cannot be known. */
export function findDeviation(row: CheckedRow): Deviation | null {
  const { operation, payload, status, check } = row
  // A reply changes a flag that is no part of it.
  const { sets } = operationTypes[operation]
  const wasDone = status === 'succeeded'
  const wasRefused = status === 'failed' || status === 'conflict' || status === 'expired'
  if (check.outcome === 'not_known' || (!wasDone && !wasRefused)) return null
  if (check.changes.some(({ field, new: wanted }) => sets.includes(field) && payload[field] !== wanted)) return null // It was corrected after the check.
  const changes = wasDone ? changesOf(row) : null
  if (wasDone === (check.outcome === 'stands_against')) return { check, changes }
  if (changes === null || sets.length === 0) return null
  return JSON.stringify(changes) === JSON.stringify(check.changes) ? null : { check, changes }
}

/** What sending it changed; null if what was there before is not stored. */
function changesOf({ operation, payload, before }: CheckedRow): readonly FieldChange[] | null {
  const changes: FieldChange[] = []
  for (const field of operationTypes[operation].sets) {
    const wanted = payload[field]
    if (wanted !== null && typeof wanted !== 'string' && typeof wanted !== 'boolean') continue
    const old = toFieldValue(field, before)
    if (old === undefined) return null
    if (old !== wanted) changes.push({ field, old, new: wanted })
  }
  return changes
}
