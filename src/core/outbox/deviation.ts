/** Where a write-back did something else than an earlier check with the service had shown. Pure. */
import type { NamedEntry } from './named-entry.ts'
import type { Evidence } from './repository.ts'
import type { FieldChange } from './review.ts'
import type { StoredCheck } from './review-check.ts'
import type { WritebackStatus } from './state.ts'
import { type Operation, operationTypes } from './writeback-request.ts'

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
