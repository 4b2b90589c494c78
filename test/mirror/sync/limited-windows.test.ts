/** Calls of a service that lists only some days at once. */
import { expect, test } from 'vitest'
import { toTimestamp } from '../../../src/values/time.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne, sampled } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const testOnOne = createTestOnOne()

const size = {
  conversations: 1,
  visitors: 1,
  calls: 120,
  days: 100,
  messagesPerConversation: 1,
  activityPerVisitor: 0,
}
const streams = ['calls'] as const
/** Both clocks agree. */
const options = () => ({ seed: 1, speed: 0, size, streams, now: toTimestamp(Date.now()) }) as const

for (const db of databases)
  for (const days of sampled([1, 7, 30, 90], (days) => days === 1 || days === 30))
    for (const order of ['oldest', 'newest'] as const)
      testOnOne(
        db.name,
        `all calls are mirrored, and later syncs ask right at once: ${days} days, ${order} first — ${db.name}`,
        async () => {
          const switches = { 'calls.window': days, 'calls.order': order } as const
          await withSandbox(
            { ...options(), size: { ...size, days: 40 }, switches, db },
            async ({ sandbox, warehouse, sync }) => {
              const startDate = Math.floor((sandbox.now() - 41 * 86_400_000) / 1000)
              const over = { project: { startDate } }
              expect(await sync(over)).toMatchObject({ outcome: 'complete', gaps: [] })
              expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
              sandbox.advance(3_600_000)
              sandbox.applyRandomMutations(3, 1, ['addCall'])
              sandbox.resetLog()
              expect(await sync(over)).toMatchObject({ outcome: 'complete', gaps: [] })
              expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
              expect(sandbox.log().length).toBeLessThanOrEqual(3)
              expect(sandbox.log().filter(({ status }) => status === 400)).toEqual([])
            },
          )
        },
      )

test('without a start date, the reading ends where a long time showed no call', async () => {
  const switches = { 'calls.window': 30 } as const
  await withSandbox({ ...options(), switches }, async ({ sandbox, warehouse, sync }) => {
    expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(sandbox.log().length).toBeLessThan(50)
    expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
    sandbox.advance(40 * 86_400_000)
    sandbox.applyRandomMutations(3, 1, ['addCall'])
    expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
  })
})

test('a window of a day without a start date ends with a gap that says what to set', async () => {
  const switches = { 'calls.window': 1 } as const
  await withSandbox({ ...options(), switches }, async ({ sandbox, warehouse, sync }) => {
    const reason = expect.stringContaining('DESKMIRROR_START_DATE')
    expect(await sync()).toMatchObject({ outcome: 'gaps', gaps: [{ stream: 'calls', reason }] })
    expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
  })
})

test('a list that is refused whatever is asked for is a gap that says what to do', async () => {
  const switches = { 'calls.window': 0.01 } as const
  await withSandbox({ ...options(), switches }, async ({ sandbox, sync }) => {
    const reason = expect.stringContaining('refuses this list')
    expect(await sync()).toMatchObject({ outcome: 'gaps', gaps: [{ stream: 'calls', reason }] })
    sandbox.setSwitches({ 'calls.window': 30 })
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
  })
})
