/**
 * A batch under kills and faults. Larger, and with more senders on both databases:
 * test/soak/batches.soak.ts.
 */
import { sampledTest } from '../support/sampled.ts'
import { runBatchScenario } from './batch-scenario.ts'

for (const [senders, scenario] of [
  ['one push, on SQLite', { database: 'sqlite', processes: 1, workers: 0, kills: [1, 0, 0] }],
  [
    'a worker and one push, on Postgres',
    { database: 'postgres', processes: 2, workers: 1, kills: [1, 0, 0] },
  ],
] as const)
  sampledTest(
    scenario.workers > 0,
    `a batch is stopped, resumed and taken back while senders are killed: ${senders}`,
    () => runBatchScenario({ ...scenario, rows: 24, targets: 6 }),
  )
