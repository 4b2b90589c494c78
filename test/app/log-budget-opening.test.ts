import { expect, onTestFinished, test } from 'vitest'
import { createRequestBudget } from '../../src/api/rate-limit/request-budget.ts'
import { createSharedStore } from '../../src/api/rate-limit/shared-store.ts'
import { logWhenBudgetOpens } from '../../src/app/request-budgets.ts'
import { createLog } from '../../src/log.ts'
import { databases } from '../support/databases.ts'

test('a closed budget logs when it is open again', async () => {
  const location = await databases[0]!.make()
  onTestFinished(location.drop)
  const warehouse = await location.open()
  const lines: { readonly event: string }[] = []
  const log = createLog({ level: 'info', pretty: false, secrets: [], write: (line) => lines.push(JSON.parse(line)) })
  const rate = { requests: 100, windowMs: 200 }
  const opened: Promise<void>[] = []
  const store = createSharedStore({
    policy: { rate, writeRate: rate, reserve: 0 },
    record: warehouse.budgetRecord('key'),
    keyUse: warehouse.keyUse('key'),
    deadlineMs: 100,
    onClosed: () => void opened.push(logWhenBudgetOpens('shop', budget, log, () => false)),
  })
  const budget = createRequestBudget(store)
  const acquire = () => budget.acquire({ priority: 'fresh', write: false, deadlineMs: 50 })
  await acquire()
  await warehouse.query('delete from sync_budgets')
  // Waits until it is open.
  await acquire()
  expect(opened).toHaveLength(1)
  await opened[0]
  expect(lines).toMatchObject([{ event: 'budget.reopened', project: 'shop', for_ms: expect.any(Number) }])
})
