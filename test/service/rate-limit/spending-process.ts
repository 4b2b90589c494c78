/**
 * A process that uses as much of a shared budget as it gets, for the tests to start, suspend and
 * kill. Its one argument is a `SpendingTask` as JSON. It prints a line for each response and each
 * loss of the record.
 */

import { flushCompileCache } from 'node:module'
import { createClient } from '../../../src/service/client.ts'
import type { BudgetPolicy } from '../../../src/service/core/budget-policy.ts'
import type { BudgetRecord } from '../../../src/service/core/budget-record.ts'
import { createSharedStore } from '../../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../../src/service/rate-limit/request-budget.ts'
import { createBudgetRecord } from '../../../src/service/sql/budget-records.ts'

export type SpendingTask = {
  /** URL of a Redis or of a warehouse. */
  readonly store: string
  readonly service: string
  readonly policy: BudgetPolicy
  readonly timeoutMs: number
  /** Whether the key counts as unused, so that the process may start at once. */
  readonly isKeyUnused: boolean
}

const task: SpendingTask = JSON.parse(process.argv[2] ?? '')
const budget = createRequestBudget(
  createSharedStore({
    policy: task.policy,
    record: await openRecord(task.store),
    keyUse: { isUnusedFor: async () => task.isKeyUnused, recordUse: async () => {} },
    onClosed: (why) => process.stdout.write(`lost: ${why}\n`),
    maxDurationMs: task.timeoutMs + 1000,
  }),
)
// The cache is normally written when a process exits, but this one is killed.
flushCompileCache()
const client = createClient({
  baseUrl: new URL(task.service),
  key: 'svc_live_test',
  budget,
  signal: new AbortController().signal,
  timeoutMs: task.timeoutMs,
})

/** Loads only what it uses, because many of these processes are started. */
async function openRecord(url: string): Promise<BudgetRecord> {
  if (/^redis/.test(url)) {
    const { openRedisRecords } = await import('../../../src/service/rate-limit/redis-record.ts')
    return openRedisRecords(url).record('spent')
  }
  const { openWarehouse } = await import('../../../src/app/open.ts')
  return createBudgetRecord(await openWarehouse(url, { access: 'read' }), 'spent')
}

async function spend(): Promise<never> {
  for (;;) {
    const answer = await client
      .send({ method: 'GET', path: '/thing', priority: 'backfill' })
      .catch(() => null)
    if (answer !== null) process.stdout.write('answered\n')
    // The store may be away, so do not retry at once.
    else await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

await Promise.all(Array.from({ length: 6 }, spend))
