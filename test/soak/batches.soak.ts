/**
 * A thousand rows, approved, stopped in the middle, resumed and taken back, with faults and kills.
 */
import { test } from 'vitest'
import { type BatchScenario, runBatchScenario } from '../outbox/batch-scenario.ts'

type Senders = Pick<BatchScenario, 'database' | 'processes' | 'workers'>

const all: readonly (readonly [name: string, senders: Senders])[] = [
  ['sqlite, one push', { database: 'sqlite', processes: 1, workers: 0 }],
  ['sqlite, three of push', { database: 'sqlite', processes: 3, workers: 0 }],
  ['sqlite, one worker', { database: 'sqlite', processes: 1, workers: 1 }],
  ['sqlite, a worker and two of push', { database: 'sqlite', processes: 3, workers: 1 }],
  ['postgres, one push', { database: 'postgres', processes: 1, workers: 0 }],
  ['postgres, three of push', { database: 'postgres', processes: 3, workers: 0 }],
  ['postgres, one worker', { database: 'postgres', processes: 1, workers: 1 }],
  ['postgres, three workers', { database: 'postgres', processes: 3, workers: 3 }],
]

for (const [name, senders] of all)
  test(name, () => runBatchScenario({ ...senders, rows: 1000, targets: 120, kills: [12, 12, 12] }))
