/** A write-back that was checked before it was sent did as checked, or something else, which is named. */
import { describe, expect, test } from 'vitest'
import { describeDeviation } from '../../src/outbox/core/review-labels.ts'
import { type CheckedRow, findDeviation, type StoredCheck } from '../../src/outbox/core/review-summary.ts'

type Case = readonly [what: string, row: Partial<CheckedRow>, check: Partial<StoredCheck>, words: string | null]

const opened = { field: 'handled', old: false, new: true } as const
const renamed = { field: 'name', old: 'Eve', new: 'Ada' } as const
const flag = { operation: 'handled', payload: { handled: true } } as const
const correction = { operation: 'visitor', payload: { name: 'Ada' } } as const
const reply = { operation: 'message', payload: { content: 'Hello', sender_name: 'Ann' } } as const
const wouldChange = { outcome: 'would_change', changes: [opened] } as const
const against = { outcome: 'stands_against', reason: 'visitor_wrote', why: 'a visitor wrote at noon' } as const

const cases: readonly Case[] = [
  ['a flag that changed what it should', { ...flag, before: { handledAt: null } }, wouldChange, null],
  [
    'a flag that was set meanwhile',
    { ...flag, before: { handledAt: '2026-05-01T00:00:00Z' } },
    wouldChange,
    'the check: would change, open → handled; then: sent, nothing changed',
  ],
  ['a flag of which nothing is stored', flag, wouldChange, null],
  [
    'a flag that became a conflict',
    { ...flag, status: 'conflict' },
    wouldChange,
    'the check: would change, open → handled; then: conflict, in its words',
  ],
  ['what stood against it, and did', { ...flag, status: 'conflict' }, against, null],
  [
    'what stood against it, and does no more',
    { ...flag, before: { handledAt: null } },
    against,
    'the check: would not be sent, a visitor wrote at noon; then: sent, open → handled',
  ],
  [
    'a name that was changed meanwhile',
    { ...correction, before: { name: 'Eva' } },
    { outcome: 'would_change', changes: [renamed] },
    'the check: would change, name "Eve" → "Ada"; then: sent, name "Eva" → "Ada"',
  ],
  [
    'a correction that was corrected after the check',
    { ...correction, payload: { name: 'Grace' }, before: { name: 'Eve' } },
    { outcome: 'would_change', changes: [renamed] },
    null,
  ],
  ['a reply that reopens', reply, { outcome: 'would_send', changes: [{ ...opened, old: true, new: false }] }, null],
  [
    'a reply that was refused',
    { ...reply, status: 'failed' },
    { outcome: 'would_send' },
    'the check: will be sent; then: failed, in its words',
  ],
  ['what the check did not know', { ...flag, status: 'failed' }, { outcome: 'not_known' }, null],
  ['what a person cancelled', { ...flag, status: 'cancelled' }, wouldChange, null],
]

describe('compared with an earlier check', () => {
  test.for(cases)('%s', ([, own, checked, words]) => {
    const check = { id: 'w', epoch: 0, reason: null, why: null, changes: [], checkedAt: '', ...checked } as StoredCheck
    const row = { id: 'w', seq: 1, status: 'succeeded', before: {}, check, ...own } as CheckedRow
    const deviation = findDeviation(row)
    const entry = { status: row.status, error: 'in its words', step: null }
    expect(deviation && describeDeviation(deviation, entry)).toBe(words)
  })
})
