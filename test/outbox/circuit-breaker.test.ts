/** When the circuit breaker opens, and what it holds back. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { writebackDeps } from '../../src/app/push.ts'
import { openService } from '../../src/app/service.ts'
import type { SendOutcome } from '../../src/outbox/core/outbox-entry.ts'
import { evaluateCircuits, mayBeOpen } from '../../src/outbox/send/circuit-breaker.ts'
import { sendLane } from '../../src/outbox/send/lane.ts'
import { createMemoryStore } from '../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../src/service/rate-limit/request-budget.ts'
import { unlimited } from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture } from './outbox-fixture.ts'

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

test('a lane ends before what the claim filter holds back', async () => {
  const o = await createOutboxFixture()
  const visitor_id = o.visitor(0)
  await o.queue(
    { operation: 'visitor', visitor_id, name: 'Ada' },
    { operation: 'note', visitor_id, content: 'Called.' },
  )
  const budget = createRequestBudget(
    createMemoryStore({ rate: unlimited, writeRate: unlimited, reserve: 0, rateMargin: 0.02 }),
  )
  const log = pino({ level: 'silent' })
  const { signal } = new AbortController()
  const service = openService(o.project, budget, { signal, log })
  const deps = await writebackDeps(o.warehouse, o.project, service, log)
  const [head] = await deps.outbox.findClaimable(Date.now(), 1)
  await sendLane(deps, head!, {
    claimFilter: () => ({ withoutQueuedSends: 'all' }),
    canContinue: () => true,
    onSettled: () => {},
  })
  await service.close()
  expect(await o.statuses()).toEqual(['succeeded', 'queued'])
})
