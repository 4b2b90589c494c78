import { expect, test } from 'vitest'
import { openRequestBudgets } from '../../src/app/request-budgets.ts'
import { createLog } from '../../src/log.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { projectConfigOf } from '../sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'

const silent = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })
const minute = (requests: number) => ({ requests, windowMs: 60_000 })

for (const db of databases) {
  test(`a rate that is changed while a process runs holds from then on, and what was spent stays spent — ${db.name}`, async () => {
    const place = await db.make()
    const sandbox = await startSandbox({ size: { conversations: 0, visitors: 1, calls: 0 } })
    const budgets = await openRequestBudgets('embedded', await place.open(), silent)
    try {
      const project = projectConfigOf(sandbox, { rate: minute(600) })
      const before = budgets.forProject(project)
      expect(budgets.forProject({ ...project })).toBe(before)
      const { signal } = new AbortController()
      await before.acquire({ priority: 'fresh', write: false, deadlineMs: 5000, signal })
      const after = budgets.forProject({ ...project, rate: minute(300) })
      expect(await after.view()).toMatchObject({ limit: 300, inUse: 1 })
      expect(budgets.ifOpened(project)).toBe(after)
    } finally {
      budgets.close()
      await sandbox.stop()
      await place.drop()
    }
  })
}
