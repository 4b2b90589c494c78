/** Kills sending processes. Longer and on both databases: test/soak/writebacks.soak.ts. */
import { expect, test } from 'vitest'
import { checkOutcomes, runKillScenario } from './kill-scenario.ts'

test('nothing arrives twice and nothing is lost when senders are killed at random times', async () => {
  const o = await runKillScenario({
    database: 'sqlite',
    processes: 2,
    writebacks: 70,
    kills: 3,
    killIntervalMs: [300, 700],
  })
  const { succeeded = 0 } = await checkOutcomes(o)
  expect(succeeded).toBeGreaterThan(25)
})
