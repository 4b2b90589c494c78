import { expect, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { databases } from '../support/databases.ts'
import { syncOnce } from './sync-sandbox.ts'

const [sqlite] = databases
const size = {
  conversations: 220,
  visitors: 60,
  calls: 20,
  messagesPerConversation: [1, 3],
  activityPerVisitor: [0, 2],
  days: 3,
} as const

for (const kind of ['sliding', 'fixed', 'estimated'] as const) {
  test(`a service that counts exactly never answers 429, latency or not — ${kind} window`, async () => {
    const place = await sqlite!.make()
    const rate = { 'rate.kind': kind, 'rate.limit': 100, 'rate.window': 2 } as const
    const latency = { 'latency.before': 30, 'latency.after': 60, 'latency.spread': 1 } as const
    const sandbox = await startSandbox({ seed: 3, size, switches: { ...rate, ...latency } })
    try {
      const project = { rate: { requests: 100, windowMs: 2000 } }
      // Two passes without a pause: the second knows what the first has spent.
      await syncOnce(place.url!, sandbox, { project })
      await syncOnce(place.url!, sandbox, { project })
      expect(sandbox.log().filter(({ status }) => status === 429)).toEqual([])
      expect(sandbox.log().length).toBeGreaterThan(300)
    } finally {
      await sandbox.stop()
      await place.drop()
    }
  })
}
