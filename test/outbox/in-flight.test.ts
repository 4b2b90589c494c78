/**
 * A service that lets few requests be in flight: fewer are sent side by side, instead of a few
 * after each pause.
 */
import { expect, test } from 'vitest'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

test('a service that refuses a third request in flight is not slowed to a few sends for each pause', async () => {
  const o = await createOutboxFixture({
    switches: {
      'rate.inFlight': 2,
      'rate.retryAfter': 'absent',
      'latency.before': 5,
      'latency.after': 10,
    },
    project: {
      rate: { requests: 1e6, windowMs: 1000 },
      writeRate: { requests: 1e6, windowMs: 1000 },
    },
    mirrored: false,
  })
  const queued = [0, 1, 2, 3, 4].flatMap(() => o.visitors())
  await o.queue(
    ...queued.map((id, n) => ({ operation: 'note', visitor_id: id, content: `Note ${n}` })),
  )
  await o.push()
  expect(new Set(await o.statuses())).toEqual(new Set(['succeeded']))
  expect(performedWrites(o.sandbox)).toHaveLength(queued.length)
  expect(o.sandbox.counts().byStatus['429'] ?? 0).toBeLessThan(15)
})
