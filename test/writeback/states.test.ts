/** The life of a write-back: every state meets everything that can happen. */
import { describe, expect, test } from 'vitest'
import {
  fromStoredState,
  nextState,
  type OutboxEvent,
  outboxEvents,
  toStoredState,
  type WritebackState,
  writebackStates,
} from '../../src/core/outbox/state.ts'

/** `–`: it cannot happen. Forget a cell, or name a state that there is not, and this does not compile. */
const expectedTransitions = {
  draft: {
    approved: 'queued',
    cancelled: 'cancelled',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: '–',
    accepted: '–',
    refused: '–',
    no_answer: '–',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: '–',
    arrived: '–',
    lost: '–',
  },
  queued: {
    approved: '–',
    cancelled: 'cancelled',
    expired: 'expired',
    conflicted: 'conflict',
    invalid: 'failed',
    sending_started: 'sending',
    not_sent: '–',
    accepted: 'succeeded',
    refused: '–',
    no_answer: 'sending',
    found: 'succeeded',
    absent: '–',
    unverifiable: 'uncertain',
    retried: '–',
    arrived: '–',
    lost: '–',
  },
  sending: {
    approved: '–',
    cancelled: 'cancelling',
    expired: 'expiring',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    no_answer: 'sending',
    found: 'succeeded',
    absent: 'queued',
    unverifiable: 'uncertain',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain: {
    approved: '–',
    cancelled: 'uncertain_cancelled',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    no_answer: 'uncertain',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  cancelling: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: 'cancelled',
    accepted: 'succeeded',
    refused: 'failed',
    no_answer: 'cancelling',
    found: 'succeeded',
    absent: 'cancelled',
    unverifiable: 'uncertain_cancelled',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  expiring: {
    approved: '–',
    cancelled: 'cancelling',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: 'expired',
    accepted: 'succeeded',
    refused: 'failed',
    no_answer: 'expiring',
    found: 'succeeded',
    absent: 'expired',
    unverifiable: 'uncertain_expired',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain_cancelled: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: 'cancelled',
    accepted: 'succeeded',
    refused: 'failed',
    no_answer: 'uncertain_cancelled',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain_expired: {
    approved: '–',
    cancelled: 'uncertain_cancelled',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: 'expired',
    accepted: 'succeeded',
    refused: 'failed',
    no_answer: 'uncertain_expired',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: '–',
    arrived: 'succeeded',
    lost: 'failed',
  },
  succeeded: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: '–',
    accepted: '–',
    refused: '–',
    no_answer: '–',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: '–',
    arrived: '–',
    lost: '–',
  },
  failed: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: '–',
    accepted: '–',
    refused: '–',
    no_answer: '–',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
  conflict: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: '–',
    accepted: '–',
    refused: '–',
    no_answer: '–',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
  cancelled: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: '–',
    accepted: 'succeeded',
    refused: '–',
    no_answer: 'cancelling',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
  expired: {
    approved: '–',
    cancelled: '–',
    expired: '–',
    conflicted: '–',
    invalid: '–',
    sending_started: '–',
    not_sent: '–',
    accepted: 'succeeded',
    refused: '–',
    no_answer: 'expiring',
    found: '–',
    absent: '–',
    unverifiable: '–',
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
    const from = writebackStates.filter((status) => nextState(status, 'sending_started') !== null)
    expect(from).toEqual(['queued'])
  })

  test('one that may have arrived goes back to the queue only where it is known that it has not', () => {
    const back = outboxEvents.filter((happening) => nextState('uncertain', happening) === 'queued')
    expect(back).toEqual(['not_sent'])
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
    for (const state of writebackStates)
      expect(fromStoredState(toStoredState(state).status, toStoredState(state).revokedAs)).toBe(state)
  })
})
