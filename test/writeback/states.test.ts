/** The life of a write-back: every state meets everything that can happen. */
import { describe, expect, test } from 'vitest'
import { type Happening, happenings, next, type Status, statuses } from '../../src/core/outbox/state.ts'

/** `–`: it cannot happen. Forget a cell, or name a state that there is not, and this does not compile. */
const cells = {
  draft: {
    approved: 'queued',
    cancelled: 'cancelled',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: '–',
    accepted: '–',
    refused: '–',
    unanswered: '–',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: '–',
    arrived: '–',
    lost: '–',
  },
  queued: {
    approved: '–',
    cancelled: 'cancelled',
    expired: 'expired',
    overtaken: 'conflict',
    unfit: 'failed',
    leaving: 'sending',
    undone: '–',
    accepted: 'succeeded',
    refused: '–',
    unanswered: 'sending',
    found: 'succeeded',
    absent: '–',
    unknowable: 'uncertain',
    retried: '–',
    arrived: '–',
    lost: '–',
  },
  sending: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'sending',
    found: 'succeeded',
    absent: 'queued',
    unknowable: 'uncertain',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  succeeded: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: '–',
    accepted: '–',
    refused: '–',
    unanswered: '–',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: '–',
    arrived: '–',
    lost: '–',
  },
  failed: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: '–',
    accepted: '–',
    refused: '–',
    unanswered: '–',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
  conflict: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: '–',
    accepted: '–',
    refused: '–',
    unanswered: '–',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
  cancelled: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: '–',
    accepted: 'succeeded',
    refused: '–',
    unanswered: 'uncertain',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
  expired: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: '–',
    accepted: '–',
    refused: '–',
    unanswered: '–',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
} as const satisfies Record<Status, Record<Happening, Status | '–'>>

for (const status of statuses) {
  test(`what can happen to one that is ${status}`, () => {
    const row = Object.fromEntries(happenings.map((happening) => [happening, next(status, happening) ?? '–']))
    expect(row).toEqual(cells[status])
  })
}

describe('whatever happens, in whatever order,', () => {
  test('one that succeeded stays so: nothing sends it again', () => {
    for (const happening of happenings) expect(next('succeeded', happening)).toBeNull()
  })

  test('it leaves from the queue only', () => {
    const from = statuses.filter((status) => next(status, 'leaving') !== null)
    expect(from).toEqual(['queued'])
  })

  test('one that may have arrived goes back to the queue only where it is known that it has not', () => {
    const back = happenings.filter((happening) => next('uncertain', happening) === 'queued')
    expect(back).toEqual(['undone'])
  })
})
