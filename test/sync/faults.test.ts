import { expect, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { databases } from '../support/databases.ts'
import { findDifferences, syncOnce } from './sync-sandbox.ts'

const size = {
  conversations: 90,
  visitors: 30,
  calls: 20,
  messagesPerConversation: [1, 20],
  activityPerVisitor: [0, 6],
  days: 5,
} as const

const usual = 'reset-before,reset-after,error-500,html-502,busy-503,truncated,not-json,foreign-429'

for (const db of databases.filter(({ name }) => name !== 'pglite')) {
  for (const share of [0.1, 0.25]) {
    test(`with ${share * 100} % of the answers faulty the mirror is equal all the same — ${db.name}`, async () => {
      const place = await db.make()
      const switches = {
        'rate.kind': 'off',
        'fault.rate': share,
        'fault.kinds': usual,
        'rate.retryAfter': 'seconds',
      } as const
      const sandbox = await startSandbox({ seed: 7, size, switches: { ...switches, 'rate.window': 1 } })
      try {
        const warehouse = await place.open()
        const project = { rate: { requests: 1e9, windowMs: 1000 } }
        const first = await syncOnce(place.url!, sandbox, { project })
        sandbox.applyRandomMutations(40, 3, [
          'visitorWrites',
          'agentReplies',
          'addConversation',
          'addVisitor',
          'addCall',
        ])
        const second = await syncOnce(place.url!, sandbox, { project })
        expect([first.outcome, second.outcome]).toEqual(['complete', 'complete'])
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
      } finally {
        await sandbox.stop()
        await place.drop()
      }
    }, 120_000)
  }
}
