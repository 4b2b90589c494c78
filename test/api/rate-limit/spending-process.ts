/**
 * A process that spends as much of a shared budget as it gets, for the tests to start, stop and kill. Its one argument is
 * a `Task` as JSON. Each loss of the record is a line on standard output, and so is its first answer.
 */
import { flushCompileCache } from 'node:module'
import { createRequestBudget } from '../../../src/api/rate-limit/request-budget.ts'
import { createClient } from '../../../src/api/client.ts'
import { openRedisRecords } from '../../../src/api/rate-limit/redis-record.ts'
import { createSharedStore } from '../../../src/api/rate-limit/shared-store.ts'
import type { BudgetPolicy } from '../../../src/core/rate-limit/budget.ts'
import type { BudgetRecord } from '../../../src/core/rate-limit/budget-record.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'

export type SpendingTask = {
  /** Of a Redis or of a warehouse. */
  readonly store: string
  readonly service: string
  readonly policy: BudgetPolicy
  readonly timeoutMs: number
  /** Whether the first process may begin at once. */
  readonly quiet: boolean
}

// The cache is written at the end of a process, and this one is killed before.
flushCompileCache()

const task: SpendingTask = JSON.parse(process.argv[2] ?? '')
const budget = createRequestBudget(
  createSharedStore({
    policy: task.policy,
    record: await cellAt(task.store),
    keyUse: { isUnusedFor: async () => task.quiet, recordUse: async () => {} },
    onClosed: (why) => process.stdout.write(`lost: ${why}\n`),
    deadlineMs: task.timeoutMs + 1000,
  }),
)
const client = createClient({
  baseUrl: new URL(task.service),
  key: 'svc_live_test',
  budget,
  signal: new AbortController().signal,
  timeoutMs: task.timeoutMs,
})

async function cellAt(url: string): Promise<BudgetRecord> {
  if (url.startsWith('redis:')) return openRedisRecords(url).record('spent')
  return (await openWarehouse(url, { access: 'read' })).budgetRecord('spent')
}

async function spend(): Promise<never> {
  for (;;) {
    const answer = await client.send({ method: 'GET', path: '/thing', priority: 'backfill' }).catch(() => null)
    if (answer !== null) process.stdout.write('answered\n')
    // A store that is away is not asked again at once.
    else await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

await Promise.all(Array.from({ length: 6 }, spend))
