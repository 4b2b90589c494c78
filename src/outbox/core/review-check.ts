/** What the service showed when a row was checked, beside what the mirror shows, and what the row did then. Pure. */
import type { NamedEntry } from './outbox-entry.ts'
import type { Evidence } from './repository.ts'
import type { FieldChange, WritebackReview } from './review.ts'
import type { WritebackStatus } from './state.ts'
import { type Operation, operationTypes } from './writeback-request.ts'

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
export function findDeviation({ operation, payload, status, before, check }: CheckedRow): Deviation | null {
  // A reply changes a flag that is no part of it.
  const { sets } = operationTypes[operation]
  const wasDone = status === 'succeeded'
  const wasRefused = status === 'failed' || status === 'conflict' || status === 'expired'
  if (check.outcome === 'not_known' || (!wasDone && !wasRefused)) return null
  if (check.changes.some(({ field, new: wanted }) => sets.includes(field) && payload[field] !== wanted)) return null // It was corrected after the check.
  const changes = wasDone ? changesOf(operation, payload, before) : null
  if (wasDone === (check.outcome === 'stands_against')) return { check, changes }
  if (changes === null || sets.length === 0) return null
  return JSON.stringify(changes) === JSON.stringify(check.changes) ? null : { check, changes }
}

function changesOf(
  operation: Operation,
  payload: CheckedRow['payload'],
  before: CheckedRow['before'],
): readonly FieldChange[] | null {
  switch (operation) {
    case 'message':
    case 'note':
      return []
    case 'handled': {
      if (before?.handledAt === undefined) return null
      const [old, wanted] = [before.handledAt !== null, payload.handled === true]
      return old === wanted ? [] : [{ field: 'handled', old, new: wanted }]
    }
    case 'visitor': {
      const changes: FieldChange[] = []
      for (const field of ['name', 'email'] as const) {
        const [old, wanted] = [before?.[field], payload[field]]
        if (wanted !== null && typeof wanted !== 'string') continue
        if (old === undefined) return null
        if (old !== wanted) changes.push({ field, old, new: wanted })
      }
      return changes
    }
  }
}
