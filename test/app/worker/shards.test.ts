/** Projects that are mirrored into databases of their own, by one worker and by commands. */
import { describe, expect, test, vi } from 'vitest'
import { consoleProjectOf } from '../../../src/app/console/console-project.ts'
import { openConsoleReader } from '../../../src/app/console/open-console.ts'
import { exportFromWarehouse } from '../../../src/app/export.ts'
import { migrateWarehouse, readStatus } from '../../../src/app/status.ts'
import type { Config } from '../../../src/config/config.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { sqliteAndPostgres } from '../../support/databases.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { findDifferences, projectConfigOf } from '../../sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'

const [embedded] = workerStores
const waiting = { timeout: 120_000, interval: 200 }
const size = { conversations: 6, visitors: 3, calls: 2, days: 1 }

for (const { name, make } of sqliteAndPostgres) {
  describe(`with another database in: ${name}`, () => {
    test('each project is mirrored into its own, and what belongs to all is in the first', async ({
      onTestFinished,
    }) => {
      const stores = await embedded!.make()
      const other = await make()
      onTestFinished(stores.drop)
      onTestFinished(other.drop)
      const shop = await startSandbox({ size, seed: 1, switches: { 'rate.kind': 'off' } })
      const school = await startSandbox({ size, seed: 2, switches: { 'rate.kind': 'off' } })
      onTestFinished(shop.stop)
      onTestFinished(school.stop)
      const projects = [
        projectConfigOf(shop, { ...frequentSchedules, name: 'shop' }),
        projectConfigOf(school, { ...frequentSchedules, name: 'school', databaseUrl: other.url }),
      ]
      const config: Config = workerConfig(stores, projects)
      const [first, second] = [await stores.open(), await other.open()]
      const idsIn = async (table: string, at = first) =>
        (await at.query(`select distinct project_id as id from ${table}`)).map(({ id }) => id)

      const worker = await startWorkerInProcess(config)
      await vi.waitFor(async () => {
        expect(await findDifferences(first, shop)).toEqual([])
        expect(await findDifferences(second, school)).toEqual([])
      }, waiting)
      for (const table of ['conversations', 'messages', 'sync_streams', 'sync_runs'])
        expect([await idsIn(table), await idsIn(table, second)], table).toEqual([[shop.projectId], [school.projectId]])
      const [target] = await second.query('select id from conversations limit 1')
      await second.query(`insert into writebacks (project_id, operation, conversation_id, payload)
        values ('${school.projectId}', 'message', '${target?.id}', '{"content":"Solved.","sender_name":"Ann"}')`)
      await worker.waitFor(({ event, status }) => event === 'writeback.settled' && status === 'succeeded')
      expect([shop.ledger().length, school.ledger().length]).toEqual([0, 1])

      const budgets = 'select name from sync_budgets'
      expect([(await first.query(budgets)).length, (await second.query(budgets)).length]).toEqual([2, 0])
      for (const project of projects) {
        const status = await readStatus(config, project)
        expect([status.project, status.workers.length], project.name).toEqual([project.name, 1])
      }
      const options = { signal: new AbortController().signal, onProgress: () => {} }
      expect((await migrateWarehouse(config, options)).applied).toEqual([])

      const moved = { ...config, projects: [{ ...projects[0]!, databaseUrl: other.url }, projects[1]!] }
      expect(worker.reload(moved)).toEqual(['projects.shop.database_url'])

      const reader = openConsoleReader(config, Date.now)
      for (const project of projects)
        await vi.waitFor(async () => {
          const { streams } = await reader.data.overview(consoleProjectOf(project))
          expect(streams.find(({ stream }) => stream === 'conversations')?.rows, project.name).toBe(6)
        }, waiting)
      await reader.close()
    })
  })
}

test('while a database is away, only its projects wait, and catch up when it is back', async ({ onTestFinished }) => {
  const stores = await embedded!.make()
  const other = await sqliteAndPostgres.find(({ name }) => name === 'postgres')!.make()
  onTestFinished(stores.drop)
  onTestFinished(other.drop)
  const proxy = await startTcpProxy(other.url!)
  const shop = await startSandbox({ size, seed: 1, switches: { 'rate.kind': 'off' } })
  const school = await startSandbox({ size, seed: 2, switches: { 'rate.kind': 'off' } })
  onTestFinished(shop.stop)
  onTestFinished(school.stop)
  const projects = [
    projectConfigOf(shop, { ...frequentSchedules, name: 'shop' }),
    projectConfigOf(school, { ...frequentSchedules, name: 'school', databaseUrl: proxy.url }),
  ]
  const config: Config = workerConfig(stores, projects)
  const [first, second] = [await stores.open(), await other.open()]
  const worker = await startWorkerInProcess(config)
  const isCurrent = (at: typeof first, sandbox: typeof shop) =>
    vi.waitFor(async () => expect(await findDifferences(at, sandbox)).toEqual([]), waiting)
  await isCurrent(first, shop)
  await isCurrent(second, school)

  proxy.disconnect()
  await worker.waitFor(
    ({ event, why }) => event === 'warehouse.lost' && String(why).includes('cannot use the warehouse'),
  )
  shop.mutate.addConversation()
  school.mutate.addConversation()
  await isCurrent(first, shop)
  const [target] = await first.query('select id from conversations limit 1')
  await first.query(`insert into writebacks (project_id, operation, conversation_id, payload)
    values ('${shop.projectId}', 'message', '${target?.id}', '{"content":"Solved.","sender_name":"Ann"}')`)
  await worker.waitFor(({ event, status }) => event === 'writeback.settled' && status === 'succeeded')
  const reader = openConsoleReader(config, Date.now)
  onTestFinished(reader.close)
  const rowsOf = async (n: number) =>
    (await reader.data.overview(consoleProjectOf(projects[n]!))).streams.find(({ stream }) => stream === 'calls')?.rows
  await vi.waitFor(async () => expect(await rowsOf(0)).toBe(2), waiting)
  await expect(rowsOf(1)).rejects.toThrow('cannot open the warehouse')

  proxy.restore()
  await isCurrent(second, school)
  await worker.waitFor(({ event }) => event === 'warehouse.back')
  await vi.waitFor(async () => expect(await rowsOf(1)).toBe(2), waiting)
})

test('an export of all projects at once names the reason why it cannot', async () => {
  const project = projectConfigOf({
    projectId: 'a',
    baseUrl: 'http://127.0.0.1:1',
    widgetUrl: 'http://127.0.0.1:1',
    key: 'k',
  })
  const config = workerConfig({ databaseUrl: 'sqlite:a.db', queueUrl: 'embedded' } as never, [
    { ...project, databaseUrl: 'sqlite:b.db' },
  ])
  await expect(exportFromWarehouse(config, null, {} as never, {} as never)).rejects.toThrow('several databases')
})
