/** Two thousand mixed write-backs, a tenth of all requests faulty, and forty times kill -9. */
import { expect, test } from 'vitest'
import { checkOutcomes, runKillScenario } from '../writeback/kill-scenario.ts'

for (const database of ['sqlite', 'postgres'] as const) {
  for (const processes of [1, 3]) {
    test(`${database}, ${processes} at once`, async () => {
      const o = await runKillScenario({ database, processes, writebacks: 2000, kills: 40, killIntervalMs: [400, 1600] })
      const fates = await checkOutcomes(o)
      expect(fates.succeeded).toBeGreaterThan(1000)
    })
  }
}
