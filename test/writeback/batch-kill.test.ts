/** A batch under kills and faults. Larger, with one and three processes: test/soak/batches.soak.ts. */
import { test } from 'vitest'
import { sqliteAndPostgres } from '../support/databases.ts'
import { runBatchScenario } from './batch-scenario.ts'

for (const { name } of sqliteAndPostgres)
  test(`a batch is stopped, resumed and taken back while senders are killed — ${name}`, async () => {
    const database = name === 'sqlite' ? 'sqlite' : 'postgres'
    await runBatchScenario({ database, rows: 96, targets: 16, processes: 2, kills: 2 })
  })
