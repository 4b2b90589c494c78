import { expect } from 'vitest'
import { sampledTest } from '../../support/sampled.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 220, visitors: 60, calls: 20, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 3], activityPerVisitor: [0, 2] } as const

for (const kind of ['sliding', 'fixed', 'estimated'] as const) {
  // `core/simulation.test.ts` tries any requests at each kind of window.
  sampledTest(
    kind === 'fixed',
    `a service that counts exactly never answers 429, with or without latency — ${kind} window`,
    async () => {
      const rate = { 'rate.kind': kind, 'rate.limit': 100, 'rate.window': 2 } as const
      const latency = { 'latency.before': 30, 'latency.after': 60, 'latency.spread': 1 } as const
      await withSandbox(
        { seed: 3, size, switches: { ...rate, ...latency } },
        async ({ sandbox, sync }) => {
          const project = { rate: { requests: 100, windowMs: 2000 } }
          // Two runs without a pause: the second knows what the first has spent.
          await sync({ project })
          await sync({ project })
          expect(sandbox.log().filter(({ status }) => status === 429)).toEqual([])
          expect(sandbox.log().length).toBeGreaterThan(300)
        },
      )
    },
  )
}
