import { expect, onTestFinished, test } from 'vitest'
import { createBudget } from '../../src/api/budget.ts'
import { createSharedStore } from '../../src/api/shared-store.ts'
import { sayWhenOpen } from '../../src/compose/budget-opening.ts'
import { createLog } from '../../src/log.ts'
import { databases } from '../support/databases.ts'

test('a budget that was closed says so when it is open again', async () => {
  const place = await databases[0]!.make()
  onTestFinished(place.drop)
  const warehouse = await place.open()
  const lines: { readonly event: string }[] = []
  const log = createLog({ level: 'info', pretty: false, secrets: [], write: (line) => lines.push(JSON.parse(line)) })
  const rate = { requests: 100, windowMs: 200 }
  const opened: Promise<void>[] = []
  const store = createSharedStore({
    policy: { rate, writeRate: rate, reserve: 0 },
    cell: warehouse.budgetCell('key'),
    use: warehouse.keyUse('key'),
    deadlineMs: 100,
    onLost: () => void opened.push(sayWhenOpen('shop', budget, log, () => false)),
  })
  const budget = createBudget(store)
  const take = () => budget.acquire({ lane: 'fresh', write: false, deadlineMs: 50 })
  await take()
  await warehouse.query('delete from sync_budgets')
  // Waits until it is open.
  await take()
  expect(opened).toHaveLength(1)
  await opened[0]
  expect(lines).toMatchObject([{ event: 'budget.opened', project: 'shop', for_ms: expect.any(Number) }])
})
