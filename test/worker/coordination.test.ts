/**
 * How a worker coordinates its projects, its schedules and other workers, on each kind of queue.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import { createLog } from '../../src/log.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import { readInstallationId } from '../../src/maintenance/sql/workers.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import type { BullBackend } from '../jobs/queue-fixtures.ts'
import { findDifferences, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { sampledTest } from '../support/sampled.ts'
import { useWorkerStores, type WorkerStoresKind, workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { type LogReader, waitUntilEqual } from './log-reader.ts'

const silent = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

const few = {
  conversations: 8,
  visitors: 0,
  calls: 0,
  messagesPerConversation: [1, 3],
  days: 3,
} as const

for (const { kind, make } of workerStores) {
  // The sample has every test on one kind of queue, on two where the kind decides how, and every
  // kind more than once.
  const on = (...kinds: readonly WorkerStoresKind['kind'][]) => kinds.includes(kind)

  describe(`a worker whose queue is in: ${kind}`, () => {
    const stores = useWorkerStores(make)

    const startTestSandbox = async (options: Parameters<typeof startSandbox>[0]) => {
      const sandbox = await startSandbox({
        seed: 3,
        size: few,
        ...options,
        switches: { 'rate.kind': 'off', ...options?.switches },
      })
      onTestFinished(sandbox.stop)
      return sandbox
    }
    const untilEqual = (worker: LogReader, sandbox: Sandbox, projectId?: string) =>
      waitUntilEqual(worker, stores.warehouse, sandbox, projectId)

    sampledTest(on('redis'), 'syncs new rows while years of backfill are pending', async () => {
      const size = {
        conversations: 48,
        visitors: 0,
        calls: 0,
        messagesPerConversation: [2, 2],
        days: 300,
      } as const
      const sandbox = await startTestSandbox({ size, switches: { 'latency.after': 250 } })
      const project = projectConfigOf(sandbox, {
        ...frequentSchedules,
        rate: { requests: 2000, windowMs: 60_000 },
      })
      const worker = await startWorkerInProcess(
        workerConfig(stores, [project], { concurrency: 1 }),
        { sliceMs: 400 },
      )
      await worker.waitFor(({ event, stream }) => event === 'sync.more' && stream === 'messages')
      const { id } = sandbox.mutate.addConversation(undefined, 'Hello?')
      const arrived = () =>
        stores.warehouse.query(`select 1 from messages where conversation_id = '${id}'`)
      while ((await arrived()).length === 0) await worker.waitForNext()
      const [left] = await stores.warehouse.query(
        `select count(*) as n from sync_children where due_at is not null`,
      )
      expect(Number(left!.n)).toBeGreaterThan(0)
      // Slices as short as these take minutes for the rest on a busy machine.
      await worker.stop()
      sandbox.setSwitches({ 'latency.after': 0 })
      await untilEqual(await startWorkerInProcess(workerConfig(stores, [project])), sandbox)
    })

    sampledTest(
      on('embedded, Postgres'),
      'pauses only the project whose key is denied, until the key changes',
      async () => {
        const sandbox = await startTestSandbox({ projects: [{ seed: 9, size: few }] })
        const [one, two] = sandbox.projectIds as [string, string]
        const good = projectConfigOf(sandbox, { ...frequentSchedules, name: 'good' })
        const denied = projectConfigOf(sandbox, {
          ...frequentSchedules,
          name: 'denied',
          projectId: two,
          apiKey: secret('svc_live_wrong'),
        })
        const worker = await startWorkerInProcess(workerConfig(stores, [good, denied]))
        await worker.waitFor(
          ({ event, project }) => event === 'project.paused' && project === 'denied',
        )
        await untilEqual(worker, sandbox, one)
        sandbox.advance(2000)
        sandbox.mutateIn(one).addConversation()
        await untilEqual(worker, sandbox, one)
        const { paused } = await readStatus(stores.warehouse.projectDb(two), Date.now(), denied)
        expect(paused).toMatchObject({ why: expect.stringMatching(/key/) })
        expect(sandbox.counts().byStatus['401']).toBeLessThan(10)

        sandbox.addKey({ key: 'svc_live_right' }, two)
        worker.reload(workerConfig(stores, [good, { ...denied, apiKey: secret('svc_live_right') }]))
        await untilEqual(worker, sandbox, two)
        expect(
          (await readStatus(stores.warehouse.projectDb(two), Date.now(), denied)).paused,
        ).toBeNull()
      },
    )

    sampledTest(
      on('redis'),
      'adds and drops projects when it reloads its configuration',
      async () => {
        const sandbox = await startTestSandbox({ projects: [{ seed: 9, size: few }] })
        const [one, two] = sandbox.projectIds as [string, string]
        const first = projectConfigOf(sandbox, { ...frequentSchedules, name: 'first' })
        const second = projectConfigOf(sandbox, {
          ...frequentSchedules,
          name: 'second',
          projectId: two,
          apiKey: secret(`${sandbox.key}_2`),
        })
        const worker = await startWorkerInProcess(workerConfig(stores, [first]))
        await untilEqual(worker, sandbox, one)
        expect(worker.reload(workerConfig(stores, [second], { concurrency: 9 }))).toEqual([
          'concurrency',
        ])
        await untilEqual(worker, sandbox, two)
        const requestCount = () => sandbox.log().filter(({ path }) => path.includes(one)).length
        const before = requestCount()
        sandbox.mutateIn(two).addConversation()
        await untilEqual(worker, sandbox, two)
        expect(requestCount()).toBe(before)
      },
    )

    sampledTest(
      on('embedded, Postgres', 'redis'),
      'gives each stream to a waiting one-shot sync, on the same budget',
      async () => {
        const sandbox = await startTestSandbox({
          size: { ...few, conversations: 30 },
          switches: { 'latency.after': 30 },
        })
        const project = { ...frequentSchedules, rate: { requests: 200, windowMs: 1000 } }
        const worker = await startWorkerInProcess(
          workerConfig(stores, [projectConfigOf(sandbox, project)]),
          {
            sliceMs: 100,
          },
        )
        await worker.waitFor(({ event, stream }) => event === 'sync.more' && stream === 'messages')
        const report = await syncOnce(stores.databaseUrl, sandbox, {
          wait: true,
          project,
          queueUrl: stores.queueUrl,
        })
        expect(report.outcome).toBe('complete')
        expect(await findDifferences(stores.warehouse, sandbox)).toEqual([])
        expect(report.requests).toBeLessThan(sandbox.log().length)

        const elsewhere = kind === 'redis' ? 'embedded' : 'redis://127.0.0.1:1'
        await expect(
          syncOnce(stores.databaseUrl, sandbox, { project, queueUrl: elsewhere }),
        ).rejects.toMatchObject({
          what: 'cannot share the request budget with the running worker',
          exitCode: 2,
        })
      },
    )

    sampledTest(
      on('embedded', 'redis'),
      'continues when its queue has lost everything',
      async () => {
        const sandbox = await startTestSandbox({})
        const config = workerConfig(stores, [projectConfigOf(sandbox, frequentSchedules)])
        const worker = await startWorkerInProcess(config)
        await untilEqual(worker, sandbox)
        if (kind !== 'redis') {
          await worker.stop()
          sandbox.mutate.addConversation()
          return untilEqual(await startWorkerInProcess(config), sandbox)
        }
        const backend = (await openBackend(stores.queueUrl, {
          log: silent,
          installation: await readInstallationId(stores.warehouse.db),
        })) as BullBackend
        for (const name of ['schedules', 'sync', 'backfill'])
          await backend.queue(name).obliterate({ force: true })
        await backend.close()
        sandbox.mutate.addConversation()
        await untilEqual(worker, sandbox)
      },
    )
  })
}

describe('workers that share a queue in Redis', () => {
  const stores = useWorkerStores(workerStores.find(({ kind }) => kind === 'redis')!.make)

  test('do each job once, and one takes over what another leaves', async () => {
    const size = {
      conversations: 24,
      visitors: 0,
      calls: 0,
      messagesPerConversation: [1, 3],
      days: 3,
    } as const
    // A slice reads a few of the conversations.
    const sandbox = await startSandbox({
      seed: 4,
      size,
      switches: { 'rate.kind': 'off', 'latency.after': 25 },
    })
    onTestFinished(sandbox.stop)
    // Without a look-back, young rows are not read again.
    const config = workerConfig(stores, [
      projectConfigOf(sandbox, { ...frequentSchedules, lookBackMs: 0 }),
    ])
    const workers = [
      await startWorkerInProcess(config, { sliceMs: 100 }),
      await startWorkerInProcess(config, { sliceMs: 100 }),
    ] as const
    const waitForNext = () => Promise.race(workers.map((worker) => worker.waitForNext()))
    await waitUntilEqual({ waitForNext }, stores.warehouse, sandbox)
    const read = sandbox
      .log()
      .flatMap(({ path }) => path.match(/conversations\/([^/]+)\/messages/)?.[1] ?? [])
    const again = read.filter((id, index) => read.indexOf(id) !== index)
    // The list that is read first, the newest one's, is asked for a single row too; and it is read
    // again where its last second was not complete the first time, as on a busy machine.
    expect(new Set(again).size).toBeLessThanOrEqual(1)
    expect(again.length).toBeLessThanOrEqual(2)
    expect(
      (
        await readStatus(
          stores.warehouse.projectDb(sandbox.projectId),
          Date.now(),
          config.projects[0]!,
        )
      ).workers,
    ).toHaveLength(2)

    await workers[0].stop()
    sandbox.mutate.addConversation()
    await waitUntilEqual(workers[1], stores.warehouse, sandbox)
  })

  test('discard a job with unknown data, and continue', async () => {
    const sandbox = await startSandbox({
      seed: 4,
      switches: { 'rate.kind': 'off' },
      size: { conversations: 3, visitors: 0, calls: 0 },
    })
    onTestFinished(sandbox.stop)
    const worker = await startWorkerInProcess(
      workerConfig(stores, [projectConfigOf(sandbox, frequentSchedules)]),
    )
    const backend = (await openBackend(stores.queueUrl, {
      log: silent,
      installation: await readInstallationId(stores.warehouse.db),
    })) as BullBackend
    const syncQueue = backend.queue<unknown>('sync')
    const unknown = [
      { project: 'shop', stream: 'messages', mode: 'everything' },
      { project: 'unknown', stream: 'messages', mode: 'incremental' },
      'hello',
    ]
    await syncQueue.addBulk(unknown.map((data) => ({ name: 'x', data })))
    for (const _ of [1, 2, 3]) await worker.waitForNext()
    while (worker.log.filter(({ event }) => event === 'job.dropped').length < 3)
      await worker.waitForNext()
    await waitUntilEqual(worker, stores.warehouse, sandbox)
    await backend.close()
  })
})
