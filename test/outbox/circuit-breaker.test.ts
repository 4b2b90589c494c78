/** What counts of write-backs say about the circuit breaker, for metrics of many projects. */
import { expect, test } from 'vitest'
import type { SendOutcome } from '../../src/outbox/core/outbox-entry.ts'
import { evaluateCircuits, mayBeOpen } from '../../src/outbox/send/circuit-breaker.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

const outcomes = (status: SendOutcome['status'], count: number): SendOutcome[] =>
  Array.from({ length: count }, () => ({
    status,
    batchId: null,
    at: '2026-03-01T11:59:00Z',
    why: '',
    isOwnFault: false,
  }))

test.each(['uncertain', 'failed'] as const)(
  'it opens at a number of %s write-backs that is not overlooked',
  (status) => {
    const opened = Array.from({ length: 15 }, (_, count) => {
      const { all, batches } = evaluateCircuits(outcomes(status, count), now)
      return all !== null || batches.size > 0
    })
    const asked = Array.from({ length: 15 }, (_, count) => mayBeOpen({ [status]: count }))
    expect(opened).toContain(true)
    expect(asked).toEqual(opened)
  },
)
