/** A review as CSV for spreadsheets: one line for each row. */
import type { ExportColumn, ExportRow } from '../../core/export.ts'
import type { WritebackReview } from '../../core/outbox/review.ts'
import type { CheckedReview } from '../../core/outbox/review-check.ts'

export const reviewColumns: readonly ExportColumn[] = [
  { name: 'row', type: 'integer' },
  { name: 'id', type: 'text' },
  { name: 'operation', type: 'text' },
  { name: 'target', type: 'text' },
  { name: 'visitor_name', type: 'text' },
  { name: 'outcome', type: 'text' },
  { name: 'reason', type: 'text' },
  { name: 'why', type: 'text' },
  { name: 'old', type: 'text' },
  { name: 'new', type: 'text' },
  { name: 'visitor_last_words', type: 'text' },
  { name: 'visitor_last_words_at', type: 'time' },
  { name: 'first_words', type: 'text' },
  { name: 'after_row', type: 'integer' },
  { name: 'expect', type: 'text' },
  { name: 'expires_at', type: 'time' },
  { name: 'checked_outcome', type: 'text' },
  { name: 'checked_why', type: 'text' },
  { name: 'checked_differs', type: 'boolean' },
  { name: 'checked_at', type: 'time' },
]

export function toReviewCells(review: CheckedReview): ExportRow {
  const { position, id, operation, target, visitorName, outcome, reason, why, changes } = review
  const { lastWords, firstWords, after, expect, expiresAt, check } = review
  return [
    ...[position, id, operation, target, visitorName, outcome, reason, why],
    ...[describeSide(changes, 'old'), describeSide(changes, 'new')],
    ...[lastWords?.text ?? null, lastWords?.at ?? null, firstWords, after, expect, expiresAt],
    ...[check?.outcome ?? null, check?.why ?? null, check?.differs ?? null, check?.checkedAt ?? null],
  ]
}

/** Null if nothing changes; of several fields `name: Ada; email: none`. */
function describeSide(changes: WritebackReview['changes'], side: 'old' | 'new'): string | null {
  const values = changes.map(({ field, ...change }) => ({ field, text: toText(change[side]) }))
  if (values.length <= 1) return values[0]?.text ?? null
  return values.map(({ field, text }) => `${field}: ${text}`).join('; ')
}

function toText(value: boolean | string | null): string {
  if (value === null) return 'none'
  return typeof value === 'boolean' ? (value ? 'handled' : 'open') : value
}
