/** How a worker behaves among its projects, its schedules and its fellows, on each kind of queue. */
import { rmSync } from 'node:fs'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../../jobs/backends/backend.ts'
import { embeddedQueueFolder } from '../../../jobs/backends/embedded/queue-folder.ts'
import { secret } from '../../../src/core/secret.ts'
import { createLog } from '../../../src/log.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { createQueueFolder as unusedQueue } from '../../jobs/queue-fixtures.ts'
import { projectConfigOf, syncOnce, findDifferences } from '../../sync/sync-sandbox.ts'
import { type WorkerStores, workerStores } from './fixtures.ts'
import type { LogReader } from './log-reader.ts'
import { workerConfig, frequentSchedules, startWorkerInProcess } from './in-process-worker.ts'

const silent = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

const few = { conversations: 8, visitors: 5, calls: 3, messagesPerConversation: [1, 3], days: 3 } as const

for (const { kind, make } of workerStores) {
  describe(`a worker whose jobs are kept in: ${kind}`, () => {
    let office: WorkerStores
    let warehouse: Warehouse
    beforeEach(async ({ onTestFinished: finished }) => {
      office = await make()
      // After the worker has stopped, which is registered later.
      finished(office.drop)
      warehouse = await office.open()
    })

    const sandboxOf = async (options: Parameters<typeof startSandbox>[0]) => {
      const sandbox = await startSandbox({
        seed: 3,
        size: few,
        ...options,
        switches: { 'rate.kind': 'off', ...options?.switches },
      })
      onTestFinished(sandbox.stop)
      return sandbox
    }
    const equal = async (worker: LogReader, sandbox: Sandbox, projectId?: string) => {
      while ((await findDifferences(warehouse, sandbox, projectId)).length > 0) await worker.waitForNext()
    }

    test('brings news while years of history are still to be read', async () => {
      const size = { conversations: 250, visitors: 0, calls: 0, messagesPerConversation: [2, 2], days: 300 } as const
      const sandbox = await sandboxOf({ size, switches: { 'latency.after': 100 } })
      const project = projectConfigOf(sandbox, {
        ...frequentSchedules,
        streams: ['conversations', 'messages'],
        rate: { requests: 2000, windowMs: 60_000 },
      })
      const worker = await startWorkerInProcess(workerConfig(office, [project], { concurrency: 1 }), { sliceMs: 400 })
      await worker.waitFor(({ event, stream }) => event === 'pass.more' && stream === 'messages')
      const { id } = sandbox.mutate.addConversation(undefined, 'Is anybody there?')
      const arrived = () => warehouse.query(`select 1 from messages where conversation_id = '${id}'`)
      while ((await arrived()).length === 0) await worker.waitForNext()
      const [left] = await warehouse.query(`select count(*) as n from sync_children where due_at is not null`)
      expect(Number(left!.n)).toBeGreaterThan(0)
      sandbox.setSwitches({ 'latency.after': 0 })
      await equal(worker, sandbox)
    })

    test('lets a project whose key is denied rest, alone, until the key is another', async () => {
      const sandbox = await sandboxOf({ projects: [{ seed: 9, size: few }] })
      const [one, two] = sandbox.projectIds as [string, string]
      const good = projectConfigOf(sandbox, { ...frequentSchedules, name: 'good' })
      const denied = projectConfigOf(sandbox, { ...frequentSchedules, name: 'denied', projectId: two, apiKey: secret('svc_live_wrong') })
      const worker = await startWorkerInProcess(workerConfig(office, [good, denied]))
      await worker.waitFor(({ event, project }) => event === 'project.paused' && project === 'denied')
      await equal(worker, sandbox, one)
      sandbox.advance(2000)
      sandbox.mutateIn(one).addConversation()
      await equal(worker, sandbox, one)
      const { paused } = await warehouse.status(two, Date.now(), denied.rate)
      expect(paused).toMatchObject({ why: expect.stringMatching(/key/) })
      expect(sandbox.counts().byStatus['401']).toBeLessThan(10)

      sandbox.addKey({ key: 'svc_live_right' }, two)
      worker.reload(workerConfig(office, [good, { ...denied, apiKey: secret('svc_live_right') }]))
      await equal(worker, sandbox, two)
      expect((await warehouse.status(two, Date.now(), denied.rate)).paused).toBeNull()
    })

    test('takes projects in and lets them go when it reads its configuration again', async () => {
      const sandbox = await sandboxOf({ projects: [{ seed: 9, size: few }] })
      const [one, two] = sandbox.projectIds as [string, string]
      const first = projectConfigOf(sandbox, { ...frequentSchedules, name: 'first' })
      const second = projectConfigOf(sandbox, {
        ...frequentSchedules,
        name: 'second',
        projectId: two,
        apiKey: secret(`${sandbox.key}_2`),
      })
      const worker = await startWorkerInProcess(workerConfig(office, [first]))
      await equal(worker, sandbox, one)
      expect(worker.reload(workerConfig(office, [second], { concurrency: 9 }))).toEqual(['concurrency'])
      await equal(worker, sandbox, two)
      const asked = () => sandbox.log().filter(({ path }) => path.includes(one)).length
      const before = asked()
      sandbox.mutateIn(two).addConversation()
      await equal(worker, sandbox, two)
      expect(asked()).toBe(before)
    })

    test('lets a one-shot sync that waits have each stream in turn, on the same budget', async () => {
      const sandbox = await sandboxOf({ size: { ...few, conversations: 60 }, switches: { 'latency.after': 30 } })
      const project = { ...frequentSchedules, rate: { requests: 200, windowMs: 1000 } }
      const worker = await startWorkerInProcess(workerConfig(office, [projectConfigOf(sandbox, project)]), { sliceMs: 100 })
      await worker.waitFor(({ event, stream }) => event === 'pass.more' && stream === 'messages')
      const report = await syncOnce(office.databaseUrl, sandbox, { wait: true, project, queueUrl: office.queueUrl })
      expect(report.outcome).toBe('complete')
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
      expect(report.requests).toBeLessThan(sandbox.log().length)

      const elsewhere = kind === 'redis' ? 'embedded' : 'redis://127.0.0.1:1'
      await expect(syncOnce(office.databaseUrl, sandbox, { project, queueUrl: elsewhere })).rejects.toMatchObject({
        what: 'cannot share the request budget with the worker that runs',
        exitCode: 2,
      })
    })

    test('goes on when its queue has lost everything', async () => {
      const sandbox = await sandboxOf({})
      const config = workerConfig(office, [projectConfigOf(sandbox, frequentSchedules)])
      const worker = await startWorkerInProcess(config)
      await equal(worker, sandbox)
      if (kind === 'embedded') {
        await worker.stop()
        rmSync(embeddedQueueFolder(office.databaseUrl), { recursive: true })
        await unusedQueue(embeddedQueueFolder(office.databaseUrl))
        sandbox.mutate.addConversation()
        return equal(await startWorkerInProcess(config), sandbox)
      }
      const backend = await openBackend(office.queueUrl, { folder: '', log: silent })
      for (const name of ['clock', 'passes', 'backfill']) await backend.queue(name).obliterate({ force: true })
      await backend.close()
      sandbox.mutate.addConversation()
      await equal(worker, sandbox)
    })
  })
}

for (const { kind, make } of workerStores.filter((it) => it.kind !== 'embedded')) {
  describe(`workers that share a queue in: ${kind}`, () => {
    let office: WorkerStores
    let warehouse: Warehouse
    beforeEach(async ({ onTestFinished: finished }) => {
      office = await make()
      // After the worker has stopped, which is registered later.
      finished(office.drop)
      warehouse = await office.open()
    })

    test('do each thing once, and one takes over what another leaves', async () => {
      const size = { conversations: 120, visitors: 30, calls: 20, messagesPerConversation: [1, 3], days: 5 } as const
      const sandbox = await startSandbox({ seed: 4, size, switches: { 'rate.kind': 'off', 'latency.after': 3 } })
      onTestFinished(sandbox.stop)
      // Without a look-back nothing is read once more because it was young.
      const config = workerConfig(office, [projectConfigOf(sandbox, { ...frequentSchedules, lookBackMs: 0 })])
      const workers = [
        await startWorkerInProcess(config, { sliceMs: 100 }),
        await startWorkerInProcess(config, { sliceMs: 100 }),
      ] as const
      while ((await findDifferences(warehouse, sandbox)).length > 0) await Promise.race(workers.map((it) => it.waitForNext()))
      const read = sandbox.log().flatMap(({ path }) => path.match(/conversations\/([^/]+)\/messages/)?.[1] ?? [])
      // The newest one is read once more, by right: nothing shows that its last second was over.
      expect(read.length - new Set(read).size).toBeLessThanOrEqual(1)
      expect((await warehouse.status(sandbox.projectId, Date.now(), config.projects[0]!.rate)).workers).toHaveLength(2)

      await workers[0].stop()
      sandbox.mutate.addConversation()
      while ((await findDifferences(warehouse, sandbox)).length > 0) await workers[1].waitForNext()
    })

    test('drop a job that no version of ours has written, and go on', async () => {
      const sandbox = await startSandbox({
        seed: 4,
        switches: { 'rate.kind': 'off' },
        size: { conversations: 3, visitors: 2, calls: 1 },
      })
      onTestFinished(sandbox.stop)
      const worker = await startWorkerInProcess(workerConfig(office, [projectConfigOf(sandbox, frequentSchedules)]))
      const backend = await openBackend(office.queueUrl, { folder: '', log: silent })
      const passes = backend.queue<unknown>('passes')
      await passes.add('x', { project: 'desk', stream: 'messages', mode: 'everything' })
      await passes.add('x', { project: 'nobody', stream: 'messages', mode: 'incremental' })
      await passes.add('x', 'hello')
      for (const _ of [1, 2, 3]) await worker.waitForNext()
      while (worker.log.filter(({ event }) => event === 'job.dropped').length < 3) await worker.waitForNext()
      while ((await findDifferences(warehouse, sandbox)).length > 0) await worker.waitForNext()
      await backend.close()
    })
  })
}
