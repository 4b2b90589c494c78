/** The state machine of a write-back: every state with every event. */
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

/** `–`: not possible. A missing cell or an unknown state does not compile. */
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
    no_response: '–',
    not_found_yet: '–',
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
    no_response: 'sending',
    not_found_yet: '–',
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
    no_response: 'sending',
    not_found_yet: 'sending',
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
    no_response: 'uncertain',
    not_found_yet: '–',
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
    no_response: 'cancelling',
    not_found_yet: 'cancelling',
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
    no_response: 'expiring',
    not_found_yet: 'expiring',
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
    no_response: 'uncertain_cancelled',
    not_found_yet: '–',
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
    no_response: 'uncertain_expired',
    not_found_yet: '–',
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
    no_response: '–',
    not_found_yet: '–',
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
    no_response: '–',
    not_found_yet: '–',
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
    no_response: '–',
    not_found_yet: '–',
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
    no_response: 'cancelling',
    not_found_yet: '–',
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
    no_response: 'expiring',
    not_found_yet: '–',
    found: '–',
    absent: '–',
    unverifiable: '–',
    retried: 'queued',
    arrived: '–',
    lost: '–',
  },
} as const satisfies Record<WritebackState, Record<OutboxEvent, WritebackState | '–'>>

for (const status of writebackStates) {
  test(`transitions from ${status}`, () => {
    const row = Object.fromEntries(outboxEvents.map((event) => [event, nextState(status, event) ?? '–']))
    expect(row).toEqual(expectedTransitions[status])
  })
}

describe('for any sequence of events,', () => {
  test('succeeded is final', () => {
    for (const event of outboxEvents) expect(nextState('succeeded', event)).toBeNull()
  })

  test('only queued write-backs are sent', () => {
    const from = writebackStates.filter((status) => nextState(status, 'sending_started') !== null)
    expect(from).toEqual(['queued'])
  })

  test('an uncertain write-back is queued again only if it was certainly not sent', () => {
    const back = outboxEvents.filter((event) => nextState('uncertain', event) === 'queued')
    expect(back).toEqual(['not_sent'])
  })

  test('a write-back cancelled or expired in flight is not sent again without a retry', () => {
    for (const start of ['cancelling', 'expiring', 'uncertain_cancelled', 'uncertain_expired'] as const) {
      const reached = new Set<WritebackState>([start])
      for (const state of reached)
        for (const event of outboxEvents.filter((name) => name !== 'retried')) {
          const to = nextState(state, event)
          if (to !== null) reached.add(to)
        }
      expect(reached).not.toContain('queued')
      expect(reached).not.toContain('sending')
    }
  })

  test('every state survives storing and loading', () => {
    for (const state of writebackStates)
      expect(fromStoredState(toStoredState(state).status, toStoredState(state).revokedAs)).toBe(state)
  })
})
