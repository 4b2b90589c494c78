/** A thousand rows, approved, stopped in the middle, resumed and taken back, with faults and kills. */
import { test } from 'vitest'
import { runBatchScenario } from '../writeback/batch-scenario.ts'

for (const database of ['sqlite', 'postgres'] as const)
  for (const processes of [1, 3])
    test(`${database}, ${processes} concurrently`, () =>
      runBatchScenario({ database, rows: 1000, targets: 120, processes, kills: 12 }))
