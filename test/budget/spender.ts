/**
 * A process that spends as much of a shared budget as it gets, for the tests to start, stop and kill. Its one argument is
 * a `Task` as JSON. Each loss of the record is a line on standard output, and so is its first answer.
 */
import { flushCompileCache } from 'node:module'
import { createBudget } from '../../src/api/budget.ts'
import { createClient } from '../../src/api/client.ts'
import { openRedis } from '../../src/api/redis-cell.ts'
import { createSharedStore } from '../../src/api/shared-store.ts'
import type { BudgetPolicy } from '../../src/core/budget/budget.ts'
import type { BudgetCell } from '../../src/core/budget/cell.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'

export type Task = {
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

const task: Task = JSON.parse(process.argv[2] ?? '')
const budget = createBudget(
  createSharedStore({
    policy: task.policy,
    cell: await cellAt(task.store),
    use: { isQuiet: async () => task.quiet, note: async () => {} },
    onLost: (why) => process.stdout.write(`lost: ${why}\n`),
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

async function cellAt(url: string): Promise<BudgetCell> {
  if (url.startsWith('redis:')) return openRedis(url).cell('spent')
  return (await openWarehouse(url, { use: 'read' })).budgetCell('spent')
}

async function spend(): Promise<never> {
  for (;;) {
    const answer = await client.send({ method: 'GET', path: '/thing', lane: 'backfill' }).catch(() => null)
    if (answer !== null) process.stdout.write('answered\n')
    // A store that is away is not asked again at once.
    else await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

await Promise.all(Array.from({ length: 6 }, spend))
