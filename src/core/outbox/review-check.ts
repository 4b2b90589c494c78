/** What the service showed when a reviewed row was checked against it, beside what the mirror shows. Pure. */
import type { WritebackReview } from './review.ts'

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
