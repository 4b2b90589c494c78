/** A webhook wakes an incremental sync of its project, and is not read. On each kind of queue. */

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import { emptyRedisDatabase } from '../jobs/queue-fixtures.ts'
import { findDifferences, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { sampledTest } from '../support/sampled.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { waitUntil } from '../support/wait.ts'
import { useWorkerStores, type WorkerStores, workerStores } from './fixtures.ts'
import { startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { type LogReader, waitUntilEqual } from './log-reader.ts'

const size = {
  conversations: 8,
  visitors: 5,
  calls: 4,
  messagesPerConversation: [1, 3],
  days: 3,
} as const
const key = 'whsec_test'
const http = { host: '127.0.0.1', port: 0 }

/** So rare that none fires during a test. */
const rareSchedules: Partial<ProjectConfig> = {
  webhookSecrets: [secret(key)],
  schedules: {
    incremental: { kind: 'every', ms: 3_600_000 },
    reconcile: { kind: 'off' },
    analytics: { kind: 'off' },
    availability: { kind: 'off' },
    audit: { kind: 'off' },
  },
}

async function deliver(
  address: string | null,
  body: string,
  by = key,
  project = 'shop',
): Promise<number> {
  const headers = { 'x-service-signature': createHmac('sha256', by).update(body).digest('hex') }
  return (await fetch(`${address}/webhooks/${project}`, { method: 'POST', headers, body })).status
}

/** How often the conversations were synced. */
const syncsIn = (...workers: readonly LogReader[]): number =>
  workers
    .flatMap(({ log }) => log)
    .filter(({ event, stream }) => event === 'sync.ended' && stream === 'conversations').length

const idOf = async (warehouse: Warehouse, n: number) =>
  String(
    (await warehouse.query(`select id from conversations order by id limit 1 offset ${n}`))[0]!.id,
  )

async function startTestSandbox(): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed: 3, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  return sandbox
}

/** Its first sync is over. Without maintenance, each later one comes from a webhook. */
async function startMirroring(
  stores: WorkerStores & { readonly warehouse: Warehouse },
  sandbox: Sandbox,
  wakeDelayMs: number,
) {
  const config = workerConfig(stores, [projectConfigOf(sandbox, rareSchedules)], { http })
  const worker = await startWorkerInProcess(config, { maintenanceEveryMs: 3_600_000, wakeDelayMs })
  await waitUntilEqual(worker, stores.warehouse, sandbox)
  sandbox.advance(2000)
  return worker
}

for (const { kind, make } of workerStores) {
  describe(`a worker whose queue is in: ${kind}`, () => {
    const stores = useWorkerStores(make)

    sampledTest(
      kind === 'redis',
      'syncs once for many deliveries, long before the schedule, and never for forged ones',
      async () => {
        const sandbox = await startTestSandbox()
        const worker = await startMirroring(stores, sandbox, 2000)
        const before = syncsIn(worker)
        const id = await idOf(stores.warehouse, 0)
        sandbox.mutate.agentReplies(id)
        expect(await deliver(worker.address, id, 'another secret')).toBe(401)
        expect(await deliver(worker.address, id, key, 'unknown')).toBe(401)
        sandbox.mutate.addConversation()
        sandbox.mutate.addCall()
        const lie = JSON.stringify({ conversation: { id, status: 'never read' } })
        const bodies = [lie, lie, lie, '\u0000 not JSON', '', JSON.stringify({ visitorId: 'v' })]
        for (const body of bodies) {
          expect(await deliver(worker.address, body)).toBe(202)
          await sleep(100)
        }
        await waitUntilEqual(worker, stores.warehouse, sandbox)
        await worker.waitFor(() => syncsIn(worker) > before)
        expect(JSON.stringify(worker.log)).not.toContain('never read')

        sandbox.mutate.addConversation()
        expect(await deliver(worker.address, lie)).toBe(202)
        await waitUntilEqual(worker, stores.warehouse, sandbox)
        await worker.waitFor(() => syncsIn(worker) > before + 1)
        expect(syncsIn(worker)).toBe(before + 2)
      },
    )

    sampledTest(
      kind === 'embedded',
      'syncs once more for deliveries that arrive while a sync reads',
      async () => {
        const sandbox = await startTestSandbox()
        const worker = await startMirroring(stores, sandbox, 200)
        const before = syncsIn(worker)
        sandbox.resetLog()
        // The list is made before it is sent.
        sandbox.setSwitches({ 'latency.after': 1500 })
        await deliver(worker.address, 'the first')
        const isListed = () => sandbox.log().some(({ path }) => path.includes('/conversations'))
        await waitUntil(isListed)
        sandbox.mutate.agentReplies(await idOf(stores.warehouse, 1))
        for (const body of ['the second', 'the third']) await deliver(worker.address, body)
        await worker.waitFor(() => syncsIn(worker) > before)
        expect(await findDifferences(stores.warehouse, sandbox)).not.toEqual([])
        sandbox.setSwitches({ 'latency.after': 0 })
        await waitUntilEqual(worker, stores.warehouse, sandbox)
        await worker.waitFor(() => syncsIn(worker) > before + 1)
        expect(syncsIn(worker)).toBe(before + 2)
      },
    )

    sampledTest(
      kind === 'embedded, Postgres',
      'asks the service for nothing while it denies the key',
      async () => {
        const sandbox = await startTestSandbox()
        const worker = await startMirroring(stores, sandbox, 50)
        sandbox.revokeKey(sandbox.key)
        await deliver(worker.address, '{}')
        const isPaused = ({ event, why }: LogReader['log'][number]) =>
          event === 'sync.blocked' && /key/.test(String(why))
        await worker.waitFor(isPaused)
        // A job that had begun before the first refusal may still send a request.
        const lists = ['conversations', 'visitors', 'calls']
        await waitUntil(() => {
          const paused = worker.log.filter(isPaused)
          return lists.every((list) => paused.some(({ stream }) => stream === list))
        })
        sandbox.resetLog()
        const paused = worker.log.filter(isPaused).length
        await deliver(worker.address, '{}')
        await waitUntil(() => worker.log.filter(isPaused).length > paused)
        expect(sandbox.log()).toEqual([])
      },
    )
  })
}

describe('workers that share a queue in Redis', () => {
  const stores = useWorkerStores(workerStores.find(({ kind }) => kind === 'redis')!.make)

  test('sync once for deliveries that reach any of them', async () => {
    const sandbox = await startTestSandbox()
    const workers = [
      await startMirroring(stores, sandbox, 1500),
      await startMirroring(stores, sandbox, 1500),
    ] as const
    const before = syncsIn(...workers)
    sandbox.mutate.addConversation()
    await Promise.all([1, 2, 3, 4].map((n) => deliver(workers[n % 2]!.address, '{}')))
    const waitForNext = () => Promise.race(workers.map((worker) => worker.waitForNext()))
    await waitUntilEqual({ waitForNext }, stores.warehouse, sandbox)
    while (syncsIn(...workers) === before) await waitForNext()

    sandbox.mutate.addConversation()
    await deliver(workers[0].address, '{}')
    await waitUntilEqual({ waitForNext }, stores.warehouse, sandbox)
    while (syncsIn(...workers) < before + 2) await waitForNext()
    expect(syncsIn(...workers)).toBe(before + 2)
  })

  test('answer 503 while Redis is away, and take a delivery again when it is back', async () => {
    const sandbox = await startTestSandbox()
    const proxy = await startTcpProxy(await emptyRedisDatabase())
    const worker = await startMirroring({ ...stores, queueUrl: proxy.url }, sandbox, 200)
    proxy.disconnect()
    expect(await deliver(worker.address, '{}')).toBe(503)
    const line = await worker.waitFor(({ event }) => event === 'webhook.unavailable')
    expect(line).toMatchObject({ project: 'shop', why: expect.any(String) })
    proxy.restore()
    await worker.waitFor(({ event }) => event === 'queue.connected')
    sandbox.mutate.addConversation()
    expect(await deliver(worker.address, '{}')).toBe(202)
    await waitUntilEqual(worker, stores.warehouse, sandbox)
  })
})
