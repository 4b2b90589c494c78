/** Projects that are mirrored into databases of their own, by one worker and by commands. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { consoleProjectOf } from '../../../src/app/console/console-project.ts'
import { openConsoleReader } from '../../../src/app/console/open-console.ts'
import { exportFromWarehouse } from '../../../src/app/export.ts'
import { migrateWarehouse } from '../../../src/app/migrate.ts'
import { readStatus } from '../../../src/app/status.ts'
import type { Config, ProjectConfig } from '../../../src/config/config.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { type DatabaseInstance, sqliteAndPostgres } from '../../support/databases.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { findDifferences, projectConfigOf } from '../../sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'

const [embedded] = workerStores
const postgres = sqliteAndPostgres.find(({ name }) => name === 'postgres')
const waiting = { timeout: 120_000, interval: 200 }
const size = { conversations: 6, visitors: 3, calls: 2, days: 1 }

const isCurrent = (database: Warehouse, sandbox: Sandbox) =>
  vi.waitFor(async () => expect(await findDifferences(database, sandbox)).toEqual([]), waiting)

/** A shop in the first database, and a school in another one, which the worker reaches at `url`. */
async function configureShards(url: string) {
  const stores = await embedded!.make()
  onTestFinished(stores.drop)
  const shop = await startSandbox({ size, seed: 1, switches: { 'rate.kind': 'off' } })
  const school = await startSandbox({ size, seed: 2, switches: { 'rate.kind': 'off' } })
  onTestFinished(shop.stop)
  onTestFinished(school.stop)
  const projects = [
    projectConfigOf(shop, { ...frequentSchedules, name: 'shop' }),
    projectConfigOf(school, { ...frequentSchedules, name: 'school', databaseUrl: url }),
  ] as const
  const config: Config = workerConfig(stores, projects)
  return { projects, config, shop, school, openFirst: stores.open }
}

/** `other`: the school's database. */
async function startShards(other: DatabaseInstance, url: string) {
  const { projects, config, shop, school, openFirst } = await configureShards(url)
  const [first, second] = [await openFirst(), await other.open()]
  const worker = await startWorkerInProcess(config)
  const sendReply = async (database: Warehouse, { projectId }: Sandbox) => {
    const [target] = await database.query('select id from conversations limit 1')
    await database.query(`insert into writebacks (project_id, operation, conversation_id, payload)
      values ('${projectId}', 'message', '${target?.id}', '{"content":"Solved.","sender_name":"Ann"}')`)
    await worker.waitFor(({ event, status }) => event === 'writeback.settled' && status === 'succeeded')
  }
  const reader = openConsoleReader(config, Date.now)
  onTestFinished(reader.close)
  /** How many calls the console shows; null until they are counted. */
  const callsOf = async (project: ProjectConfig) =>
    (await reader.data.overview(consoleProjectOf(project))).streams.find(({ stream }) => stream === 'calls')?.rows
  await isCurrent(first, shop)
  await isCurrent(second, school)
  return { projects, config, shop, school, first, second, worker, sendReply, callsOf }
}

describe.for(sqliteAndPostgres)('with another database in: $name', ({ make }) => {
  test('each project is mirrored into its own, and what belongs to all is in the first', async () => {
    const other = await make()
    onTestFinished(other.drop)
    const shards = await startShards(other, other.url!)
    const { projects, config, shop, school, first, second, worker, sendReply, callsOf } = shards
    const idsIn = async (table: string, at = first) =>
      (await at.query(`select distinct project_id as id from ${table}`)).map(({ id }) => id)
    for (const table of ['conversations', 'messages', 'sync_streams', 'sync_runs'])
      expect([await idsIn(table), await idsIn(table, second)], table).toEqual([[shop.projectId], [school.projectId]])
    await sendReply(second, school)
    expect([shop.ledger().length, school.ledger().length]).toEqual([0, 1])

    const budgets = 'select name from sync_budgets'
    expect([(await first.query(budgets)).length, (await second.query(budgets)).length]).toEqual([2, 0])
    for (const project of projects) {
      const status = await readStatus(config, project)
      expect([status.project, status.workers.length], project.name).toEqual([project.name, 1])
      await vi.waitFor(async () => expect(await callsOf(project), project.name).toBe(2), waiting)
    }
    const options = { signal: new AbortController().signal, onProgress: () => {} }
    expect((await migrateWarehouse(config, options)).applied).toEqual([])

    const moved = { ...config, projects: [{ ...projects[0], databaseUrl: projects[1].databaseUrl }, projects[1]] }
    expect(worker.reload(moved)).toEqual(['projects.shop.database_url'])
  })
})

test('while a database is away, only its projects wait, and catch up when it is back', async () => {
  const other = await postgres!.make()
  onTestFinished(other.drop)
  const proxy = await startTcpProxy(other.url!)
  const shards = await startShards(other, proxy.url)
  const { projects, shop, school, first, second, worker, sendReply, callsOf } = shards
  proxy.disconnect()
  await worker.waitFor(
    ({ event, why }) => event === 'warehouse.lost' && String(why).includes('cannot use the warehouse'),
  )
  shop.mutate.addConversation()
  school.mutate.addConversation()
  await isCurrent(first, shop)
  await sendReply(first, shop)
  await vi.waitFor(async () => expect(await callsOf(projects[0])).toBe(2), waiting)
  await expect(callsOf(projects[1])).rejects.toThrow('cannot open the warehouse')

  proxy.restore()
  await isCurrent(second, school)
  await worker.waitFor(({ event }) => event === 'warehouse.back')
  await vi.waitFor(async () => expect(await callsOf(projects[1])).toBe(2), waiting)
})

test('a worker starts while a database is away, and creates its tables when it is back', async () => {
  const other = await postgres!.make()
  onTestFinished(other.drop)
  const proxy = await startTcpProxy(other.url!)
  const { config, projects, shop, school, openFirst } = await configureShards(proxy.url)
  proxy.disconnect()
  const options = { signal: new AbortController().signal, onProgress: () => {} }
  await expect(migrateWarehouse(config, options)).rejects.toThrow('cannot use the warehouse')
  const worker = await startWorkerInProcess(config)
  await isCurrent(await openFirst(), shop)
  await worker.waitFor(({ event }) => event === 'warehouse.lost')

  proxy.restore()
  await worker.waitFor(({ event }) => event === 'warehouse.back')
  await isCurrent(await other.open(), school)
  const unknown = { ...projects[1], databaseUrl: other.url!.replace(/\/[^/]*$/, '/missing') }
  await expect(startWorkerInProcess({ ...config, projects: [projects[0], unknown] })).rejects.toThrow(
    'no database of that name',
  )
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
