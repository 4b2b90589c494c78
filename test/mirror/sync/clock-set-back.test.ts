/** This machine's clock was ahead while rows were stored, and is right again. */

import { afterEach, expect, test, vi } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { gapReasons } from '../../../src/mirror/core/pagination/reading-state.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const testOnOne = createTestOnOne()

const day = 86_400_000
const children = { messagesPerConversation: [1, 3], activityPerVisitor: [0, 2] } as const
const options = {
  seed: 5,
  size: { conversations: 12, visitors: 9, calls: 6, days: 2, ...children },
}

const setClockAhead = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + day })
const setClockBack = () => vi.useRealTimers()

afterEach(setClockBack)

for (const db of databases) {
  testOnOne(db.name, `the next syncs store what changed — ${db.name}`, async () => {
    await withSandbox({ ...options, db }, async ({ sandbox, warehouse, sync }) => {
      setClockAhead()
      await sync()
      setClockBack()
      sandbox.advance(120_000)
      sandbox.applyRandomMutations(20, 1, ['visitorWrites', 'agentReplies'])
      await sync()
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
      sandbox.applyRandomMutations(10, 2)
      await sync({ mode: 'reconcile' })
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
    })
  })

  testOnOne(
    db.name,
    `the next sync reads what an interrupted one left pending — ${db.name}`,
    async () => {
      await withSandbox({ ...options, db }, async ({ sandbox, warehouse, sync }) => {
        setClockAhead()
        await sync({ streams: ['conversations', 'visitors', 'calls'] })
        setClockBack()
        await sync()
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
      })
    },
  )
}

test('a reconcile that began then begins anew, and does not close the gaps that it finds', async () => {
  const size = {
    conversations: 1,
    visitors: 450,
    calls: 0,
    messagesPerConversation: 1,
    activityPerVisitor: 0,
  } as const
  await withSandbox(
    { seed: 5, size, switches: { 'storm.visitors': 450 } },
    async ({ sandbox, warehouse, sync }) => {
      const streams = ['visitors'] as const
      await sync({ streams })
      const mirror = openMirror(warehouse, sandbox.projectId)
      await mirror.writeCursor('visitors:whole:since', String(Date.now() + day))
      await mirror.writeCursor('visitors:whole', '1970-01-01T00:00:00Z/')
      const { outcome, gaps } = await sync({ mode: 'reconcile', streams })
      expect(gaps.map(({ reason }) => reason)).toContain(gapReasons.timestampCollision)
      expect(outcome).toBe('gaps')
    },
  )
})
