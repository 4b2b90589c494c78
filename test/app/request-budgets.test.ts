import { expect, onTestFinished, test } from 'vitest'
import { logWhenBudgetOpens, openRequestBudgets } from '../../src/app/request-budgets.ts'
import { createLog } from '../../src/log.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { createSharedStore } from '../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../src/service/rate-limit/request-budget.ts'
import { createBudgetRecord, createKeyUse } from '../../src/service/sql/budget-records.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'

const silent = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })
const minute = (requests: number) => ({ requests, windowMs: 60_000 })

for (const db of databases) {
  test(`a rate that changes while a process runs applies from then on, and taken slots stay taken — ${db.name}`, async () => {
    const location = await db.make()
    const sandbox = await startSandbox({ size: { conversations: 0, visitors: 1, calls: 0 } })
    const budgets = await openRequestBudgets('embedded', await location.open(), silent)
    try {
      const project = projectConfigOf(sandbox, { rate: minute(600) })
      const before = budgets.forProject(project)
      const { signal } = new AbortController()
      await before.acquire({ priority: 'fresh', write: false, maxDurationMs: 5000, signal })
      expect(await budgets.forProject({ ...project }).view()).toMatchObject({
        limit: 600,
        inUse: 1,
      })
      const after = budgets.forProject({ ...project, rate: minute(300) })
      expect(await after.view()).toMatchObject({ limit: 300, inUse: 1 })
      expect(await budgets.ifOpened(project)?.view()).toMatchObject({ limit: 300, inUse: 1 })
      expect(await budgets.forProject({ ...project, rateMargin: 0.1 }).view()).toMatchObject({
        slots: 540,
      })
    } finally {
      budgets.close()
      await sandbox.stop()
      await location.drop()
    }
  })
}

test('a closed budget logs when it is open again', async () => {
  const location = await databases[0]!.make()
  onTestFinished(location.drop)
  const warehouse = await location.open()
  const lines: { readonly event: string }[] = []
  const log = createLog({
    level: 'info',
    pretty: false,
    secrets: [],
    write: (line) => lines.push(JSON.parse(line)),
  })
  const rate = { requests: 100, windowMs: 200 }
  const opened: Promise<void>[] = []
  const store = createSharedStore({
    policy: { rate, writeRate: rate, reserve: 0, rateMargin: 0.02 },
    record: createBudgetRecord(warehouse, 'key'),
    keyUse: createKeyUse(warehouse, 'key'),
    maxDurationMs: 100,
    onClosed: () => void opened.push(logWhenBudgetOpens('shop', budget, log, () => false)),
  })
  const budget = createRequestBudget(store)
  const acquire = () => budget.acquire({ priority: 'fresh', write: false, maxDurationMs: 50 })
  await acquire()
  await warehouse.query('delete from sync_budgets')
  // Waits until it is open.
  await acquire()
  expect(opened).toHaveLength(1)
  await opened[0]
  expect(lines).toMatchObject([
    { event: 'budget.opened', project: 'shop', for_ms: expect.any(Number) },
  ])
})
