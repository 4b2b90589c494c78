/**
 * One Redis database: of two installations that know nothing of each other, and of workers that are
 * configured differently.
 */

import { expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { readInstallationId } from '../../src/maintenance/sql/workers.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { silentLog } from '../jobs/queue-fixtures.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { type WorkerStores, workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { type LogReader, waitUntilEqual } from './log-reader.ts'

const size = {
  conversations: 4,
  visitors: 0,
  calls: 0,
  messagesPerConversation: [1, 2],
  days: 2,
} as const
const [, redis] = workerStores

const startTestSandbox = async (seed: number) => {
  const sandbox = await startSandbox({ seed, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  return sandbox
}
const makeStores = async () => {
  const stores = await redis!.make()
  onTestFinished(stores.drop)
  return { ...stores, warehouse: await stores.open() }
}
const ended = ({ log }: LogReader, project: string) =>
  log.filter(({ event, project: of }) => event === 'sync.ended' && of === project).length
const dropped = ({ log }: LogReader) => log.filter(({ event }) => event === 'job.dropped')
const scheduleIds = async ({ queueUrl }: WorkerStores, warehouse: Warehouse) => {
  const backend = await openBackend(queueUrl, {
    log: silentLog,
    installation: await readInstallationId(warehouse.db),
  })
  const ids = (await backend.queue('schedules').getJobSchedulers(0, -1)).map(({ key }) => key)
  await backend.close()
  return ids.toSorted()
}

test('two installations on one Redis database keep out of each other’s way', async () => {
  const [first, second] = [await makeStores(), await makeStores()]
  // The tests' databases are copies of one; those of two installations are not.
  await second.warehouse.query(
    "update sync_installation set id = '00000000-0000-4000-8000-000000000000'",
  )
  const [here, there] = [await startTestSandbox(3), await startTestSandbox(4)]
  const start = (stores: WorkerStores, sandbox: typeof here, name: string) => {
    const project = projectConfigOf(sandbox, { ...frequentSchedules, name })
    return startWorkerInProcess(workerConfig({ ...stores, queueUrl: first.queueUrl }, [project]))
  }
  const workers = [await start(first, here, 'shop'), await start(second, there, 'school')] as const
  const before = [ended(workers[0], 'shop'), ended(workers[1], 'school')] as const
  for (const sandbox of [here, there]) sandbox.mutate.addConversation()
  await waitUntilEqual(workers[0], first.warehouse, here)
  await waitUntilEqual(workers[1], second.warehouse, there)
  while (ended(workers[0], 'shop') < before[0] + 4) await workers[0].waitForNext()
  while (ended(workers[1], 'school') < before[1] + 4) await workers[1].waitForNext()
  expect(workers.flatMap(dropped)).toEqual([])
  expect(await scheduleIds(first, first.warehouse)).toEqual(['housekeeping', 'incremental/shop'])
  expect(await scheduleIds(first, second.warehouse)).toEqual(['housekeeping', 'incremental/school'])
})

test('a worker that knows one project more keeps its schedules beside one that does not, until it stops', async () => {
  const stores = await makeStores()
  const [here, there] = [await startTestSandbox(3), await startTestSandbox(4)]
  const shop = projectConfigOf(here, frequentSchedules)
  const school = projectConfigOf(there, { ...frequentSchedules, name: 'school' })
  const old = await startWorkerInProcess(workerConfig(stores, [shop]))
  await old.waitFor(({ event }) => event === 'sync.ended')
  const next = await startWorkerInProcess(workerConfig(stores, [shop, school]))
  await next.waitFor(({ event, project }) => event === 'sync.ended' && project === 'school')
  await old.waitFor(({ event }) => event === 'workers.differ')
  const before = ended(next, 'school')
  there.mutate.addConversation()
  await waitUntilEqual(next, stores.warehouse, there)
  while (ended(next, 'school') < before + 4) await next.waitForNext()
  expect(await scheduleIds(stores, stores.warehouse)).toContain('incremental/school')
  expect([old, next].flatMap(dropped)).toEqual([])
  await next.stop()
  await old.waitFor(({ event }) => event === 'workers.agree')
  while ((await scheduleIds(stores, stores.warehouse)).includes('incremental/school'))
    await old.waitForNext()
})
