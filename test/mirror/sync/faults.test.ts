import { expect } from 'vitest'
import { databases } from '../../support/databases.ts'
import { sampledTest } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 90, visitors: 30, calls: 20, days: 5 }
const size = { ...lists, messagesPerConversation: [1, 20], activityPerVisitor: [0, 6] } as const

const faultKinds =
  'reset-before,reset-after,error-500,html-502,busy-503,truncated,not-json,foreign-429'

for (const db of databases) {
  for (const share of db.name === 'sqlite' ? [0.1, 0.25] : [0.25]) {
    const isInSample = db.name === 'sqlite' && share === 0.25
    sampledTest(
      isInSample,
      `with ${share * 100} % faulty answers the mirror is still equal — ${db.name}`,
      async () => {
        const faults = {
          'fault.rate': share,
          'fault.kinds': faultKinds,
          'rate.retryAfter': 'seconds',
        } as const
        const options = { seed: 7, size, switches: { ...faults, 'rate.window': 1 }, db }
        await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
          const project = { rate: { requests: 1e9, windowMs: 1000 } }
          const first = await sync({ project })
          const kinds = [
            'visitorWrites',
            'agentReplies',
            'addConversation',
            'addVisitor',
            'addCall',
          ] as const
          sandbox.applyRandomMutations(40, 3, kinds)
          const second = await sync({ project })
          expect([first.outcome, second.outcome]).toEqual(['complete', 'complete'])
          expect(await findDifferences(warehouse, sandbox)).toEqual([])
        })
      },
    )
  }
}
