/** The life of a write-back: every state meets everything that can happen. */
import { describe, expect, test } from 'vitest'
import { type OutboxEvent, outboxEvents, nextState, type WritebackState, fromStoredState, writebackStates, toStoredState } from '../../src/core/outbox/state.ts'

/** `–`: it cannot happen. Forget a cell, or name a state that there is not, and this does not compile. */
const expectedTransitions = {
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
    cancelled: 'cancelling',
    expired: 'expiring',
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
    cancelled: 'uncertain_cancelled',
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
  cancelling: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: 'cancelled',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'cancelling',
    found: 'succeeded',
    absent: 'cancelled',
    unknowable: 'uncertain_cancelled',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  expiring: {
    approved: '–',
    cancelled: 'cancelling',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: 'expired',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'expiring',
    found: 'succeeded',
    absent: 'expired',
    unknowable: 'uncertain_expired',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain_cancelled: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: 'cancelled',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain_cancelled',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain_expired: {
    approved: '–',
    cancelled: 'uncertain_cancelled',
    expired: '–',
    overtaken: '–',
    unfit: '–',
    leaving: '–',
    undone: 'expired',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain_expired',
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
    unanswered: 'cancelling',
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
    accepted: 'succeeded',
    refused: '–',
    unanswered: 'expiring',
    found: '–',
    absent: '–',
    unknowable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
} as const satisfies Record<WritebackState, Record<OutboxEvent, WritebackState | '–'>>

for (const status of writebackStates) {
  test(`what can happen to one that is ${status}`, () => {
    const row = Object.fromEntries(outboxEvents.map((happening) => [happening, nextState(status, happening) ?? '–']))
    expect(row).toEqual(expectedTransitions[status])
  })
}

describe('whatever happens, in whatever order,', () => {
  test('one that succeeded stays so: nothing sends it again', () => {
    for (const happening of outboxEvents) expect(nextState('succeeded', happening)).toBeNull()
  })

  test('it leaves from the queue only', () => {
    const from = writebackStates.filter((status) => nextState(status, 'leaving') !== null)
    expect(from).toEqual(['queued'])
  })

  test('one that may have arrived goes back to the queue only where it is known that it has not', () => {
    const back = outboxEvents.filter((happening) => nextState('uncertain', happening) === 'queued')
    expect(back).toEqual(['undone'])
  })

  test('one that was cancelled, or expired, on its way is not sent again unless a person says so', () => {
    for (const start of ['cancelling', 'expiring', 'uncertain_cancelled', 'uncertain_expired'] as const) {
      const reached = new Set<WritebackState>([start])
      for (const state of reached)
        for (const happening of outboxEvents.filter((it) => it !== 'retried')) {
          const to = nextState(state, happening)
          if (to !== null) reached.add(to)
        }
      expect(reached).not.toContain('queued')
      expect(reached).not.toContain('sending')
    }
  })

  test('every state is known again by what is stored of it', () => {
    for (const state of writebackStates) expect(fromStoredState(toStoredState(state).status, toStoredState(state).revokedAs)).toBe(state)
  })
})
