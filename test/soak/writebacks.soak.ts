/**
 * Two thousand mixed write-backs, with a fault in a tenth of all requests, and forty kills of
 * processes.
 */
import { expect, test } from 'vitest'
import { checkOutcomes, runKillScenario } from '../outbox/kill-scenario.ts'

for (const database of ['sqlite', 'postgres'] as const) {
  for (const processes of [1, 3]) {
    test(`${database}, ${processes} concurrently`, async () => {
      const run = await runKillScenario({
        database,
        processes,
        writebacks: 2000,
        kills: 40,
        killIntervalMs: [400, 1600],
      })
      const outcomes = await checkOutcomes(run)
      expect(outcomes.succeeded).toBeGreaterThan(1000)
    })
  }
}
