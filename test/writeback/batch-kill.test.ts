/** A batch under kills and faults. Larger, with one and three processes on both databases: test/soak/batches.soak.ts. */
import { test } from 'vitest'
import { runBatchScenario } from './batch-scenario.ts'

for (const [database, processes] of [
  ['sqlite', 1],
  ['postgres', 3],
] as const)
  test(`a batch is stopped, resumed and taken back while senders are killed — ${database}, ${processes} at once`, () =>
    runBatchScenario({ database, rows: 48, targets: 8, processes, kills: 1 }))
