/** A webhook only makes the worker read rows again. On each kind of queue. */

import { createHmac } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { pendingWebhookJobs } from '../../jobs/maintenance.ts'
import type { Warehouse } from '../../src/app/open.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { createLog } from '../../src/log.ts'
import { createDeliveries } from '../../src/mirror/sql/webhook-deliveries.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import { processDeliveries, storeDelivery } from '../../src/worker/webhook-deliveries.ts'
import { openWorkerContext } from '../../src/worker/worker-context.ts'
import { findDifferences, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { sampledTest } from '../support/sampled.ts'
import { useWorkerStores, workerStores } from './fixtures.ts'
import { startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { waitUntilEqual } from './log-reader.ts'

const size = { conversations: 8, visitors: 5, calls: 4, messagesPerConversation: [1, 3], days: 3 } as const
const key = 'whsec_test'

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

const startTestSandbox = async (options: Parameters<typeof startSandbox>[0] = {}) => {
  const sandbox = await startSandbox({ seed: 3, size, ...options, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  return sandbox
}

async function deliver(address: string, payload: unknown, by = key, project = 'shop'): Promise<number> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const headers = { 'x-service-signature': createHmac('sha256', by).update(body).digest('hex') }
  return (await fetch(`${address}/webhooks/${project}`, { method: 'POST', headers, body })).status
}

const idOf = async (warehouse: Warehouse, table: string, n = 0) =>
  String((await warehouse.query(`select id from ${table} order by id limit 1 offset ${n}`))[0]!.id)

for (const { kind, make } of workerStores) {
  describe(`a worker whose queue is in: ${kind}`, () => {
    const stores = useWorkerStores(make)

    const startFreshWorker = async (maintenanceEveryMs = 300) => {
      const sandbox = await startTestSandbox()
      const config = workerConfig(stores, [projectConfigOf(sandbox, rareSchedules)], {
        http: { host: '127.0.0.1', port: 0 },
      })
      const worker = await startWorkerInProcess(config, { maintenanceEveryMs })
      const untilEqual = () => waitUntilEqual(worker, stores.warehouse, sandbox)
      await untilEqual()
      sandbox.advance(2000)
      sandbox.resetLog()
      return { sandbox, worker, untilEqual, address: worker.address! }
    }

    sampledTest(
      kind !== 'postgres',
      'mirrors the rows of a delivery long before the schedule, and rejects forged deliveries',
      async () => {
        // Without maintenance, each change here comes from an enqueued job.
        const { sandbox, worker, untilEqual, address } = await startFreshWorker(3_600_000)
        const [one, two] = [
          await idOf(stores.warehouse, 'conversations'),
          await idOf(stores.warehouse, 'conversations', 1),
        ]

        sandbox.mutate.agentReplies(one, 'forged')
        expect(await deliver(address, { conversationId: one }, 'another secret')).toBe(401)
        expect(await deliver(address, { conversationId: one }, key, 'unknown')).toBe(401)
        sandbox.mutate.agentReplies(two)
        const lie = { conversation: { id: two, status: 'closed', handledAt: '2001-01-01T00:00:00Z' } }
        expect(await deliver(address, lie)).toBe(202)
        const differ = async () =>
          new Set((await findDifferences(stores.warehouse, sandbox)).map((it) => it.key.split('/')[0]))
        while ((await differ()).has(two)) await worker.waitForNext()
        expect(await differ()).toEqual(new Set([one]))
        const asked = sandbox.log().map(({ path }) => path)
        expect(asked.filter((path) => path.includes(one))).toEqual([])
        // The conversation, its messages, and its visitor's activity.
        expect(asked.length).toBeLessThanOrEqual(4)

        expect(await deliver(address, lie)).toBe(202)
        expect(await deliver(address, { type: 'message.created', data: { conversation_id: one } })).toBe(202)
        await untilEqual()

        const visitor = await idOf(stores.warehouse, 'visitors')
        sandbox.mutate.renameVisitor(visitor, 'Ada', 'ada@example.com')
        sandbox.mutate.addActivity(visitor)
        await deliver(address, { data: { id: visitor } })
        await untilEqual()

        const [call, silent] = [await idOf(stores.warehouse, 'calls'), await idOf(stores.warehouse, 'calls', 1)]
        sandbox.mutate.deleteCall(call)
        sandbox.mutate.recordingAppears(silent)
        await deliver(address, { event: 'call.changed', payload: [{ id: call }, { id: silent }] })
        await untilEqual()

        sandbox.mutate.addCall()
        sandbox.mutate.addConversation()
        await deliver(address, '\u0000 not JSON')
        await untilEqual()
        const stored = () =>
          stores.warehouse.query('select found, due_at from webhook_deliveries order by received_at, found')
        while ((await stored()).some((row) => row.due_at !== null)) await worker.waitForNext()
        expect((await stored()).map((row) => row.found).sort()).toEqual([
          'calls: 1 gone, 1 read',
          'conversations: 1 read',
          'conversations: 1 read',
          'lists, as it is not JSON',
          'visitors: 1 read',
        ])
      },
    )

    sampledTest(kind === 'postgres', 'finds a delivery for which no job was enqueued', async () => {
      const { sandbox, untilEqual } = await startFreshWorker()
      const id = await idOf(stores.warehouse, 'conversations')
      sandbox.mutate.visitorWrites(id)
      const body = JSON.stringify({ id })
      await createDeliveries(stores.warehouse.db, stores.warehouse.kind).store(
        sandbox.projectId,
        { id: 'lost', body, bytes: body.length },
        Date.now(),
      )
      await untilEqual()
    })

    if (kind === 'redis') {
      test('leaves it for later while the key is denied', async () => {
        const { sandbox, worker, untilEqual, address } = await startFreshWorker()
        const id = await idOf(stores.warehouse, 'conversations')
        sandbox.revokeKey(sandbox.key)
        sandbox.mutate.visitorWrites(id)
        await deliver(address, { conversationId: id })
        await worker.waitFor(({ event }) => event === 'project.paused')
        sandbox.addKey({ key: 'svc_live_new' })
        const config = workerConfig(stores, [
          projectConfigOf(sandbox, { ...rareSchedules, apiKey: secret('svc_live_new') }),
        ])
        // A failed delivery is due again half a minute later; this test makes it due at once.
        const hurry = () => stores.warehouse.query('update webhook_deliveries set due_at = 1 where due_at is not null')
        await worker.waitFor(({ event }) => event === 'webhooks.paused')
        await hurry()
        worker.reload(config)
        await untilEqual()
      })
    }
  })
}

describe('processing deliveries', () => {
  const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

  const openContext = async (over: Partial<ProjectConfig> = {}, options: Parameters<typeof startSandbox>[0] = {}) => {
    const sandbox = await startTestSandbox({
      ...options,
      keys: [{ key: 'svc_live_all' }, { key: 'svc_live_chat', scopes: ['conversations:read'] }],
    })
    const stores = await workerStores[0]!.make()
    onTestFinished(stores.drop)
    const warehouse = await stores.open()
    await syncOnce(stores.databaseUrl, sandbox)
    sandbox.advance(2000)
    const project = projectConfigOf(sandbox, { ...rareSchedules, ...over })
    const metrics = createMetrics({ readHealth: async () => [], log })
    const context = await openWorkerContext(workerConfig(stores, [project]), { log, metrics, onLost: () => {} })
    onTestFinished(context.close)
    const store = (payload: unknown) =>
      storeDelivery(warehouse, sandbox.projectId, Buffer.from(JSON.stringify(payload)))
    const followUps: boolean[] = []
    const processDue = (signal = new AbortController().signal) =>
      processDeliveries(context, project, { signal, enqueueFollowUps: async ({ lists }) => void followUps.push(lists) })
    const found = async () => (await warehouse.query('select found from webhook_deliveries')).map((row) => row.found)
    return { sandbox, warehouse, store, processDue, followUps, found }
  }

  test('reads each row once, however many deliveries are about it', async () => {
    const { sandbox, warehouse, store, processDue, followUps } = await openContext()
    const id = await idOf(warehouse, 'conversations')
    for (const n of [1, 2, 3]) await store({ n, conversationId: id })
    sandbox.resetLog()
    expect(await processDue()).toEqual({ kind: 'done', deliveries: 3, lists: false })
    expect(sandbox.log()).toHaveLength(1)
    expect([followUps, await processDue()]).toEqual([[false], { kind: 'done', deliveries: 0, lists: false }])
  })

  test('a key without the scope reads what it may, and the project is not paused', async () => {
    const { warehouse, store, processDue, found } = await openContext({ apiKey: secret('svc_live_chat') })
    const ids = { conversationId: await idOf(warehouse, 'conversations'), visitorId: await idOf(warehouse, 'visitors') }
    await store(ids)
    expect(await processDue()).toMatchObject({ kind: 'done', deliveries: 1 })
    expect(await found()).toEqual(['conversations: 1 read; visitors: 1 refused'])
    await store({ again: 1, ...ids })
    expect(await processDue()).toMatchObject({ kind: 'done', deliveries: 1 })
  })

  test('ids that the service does not have change nothing in the mirror', async () => {
    const { warehouse, store, processDue, found } = await openContext()
    const before = await warehouse.query('select id, deleted_at from conversations order by id')
    await store({ conversationId: '00000000-0000-4000-8000-000000000001', callId: 'x' })
    await processDue()
    expect(await found()).toEqual(['conversations: 1 gone; calls: 1 gone'])
    expect(await warehouse.query('select id, deleted_at from conversations order by id')).toEqual(before)
  })

  test('an id in other letters is that of the mirrored row, whose children are read, too', async () => {
    const { warehouse, store, processDue, found } = await openContext()
    const id = await idOf(warehouse, 'conversations')
    await warehouse.query('update sync_children set due_at = null')
    await store({ conversationId: id.toUpperCase() })
    await processDue()
    expect(await found()).toEqual(['conversations: 1 read'])
    expect(await warehouse.query('select parent_id from sync_children where due_at is not null')).toEqual([
      { parent_id: id },
    ])
    expect(await warehouse.query('select id from conversations')).toHaveLength(size.conversations)
  })

  test('many deliveries cannot mark what one sync may not, each one row', async () => {
    const { sandbox, warehouse, store, processDue } = await openContext({}, { size: { ...size, conversations: 120 } })
    sandbox.setSwitches({ 'missing.rows': 'ids' })
    for (const { id } of await warehouse.query('select id from conversations')) {
      await store({ conversationId: id })
      await processDue()
    }
    expect(await warehouse.query('select id from conversations where deleted_at is not null')).toEqual([])
    expect(await warehouse.query('select reason from sync_gaps where resolved_at is null')).toMatchObject([
      { reason: expect.stringContaining('no longer lists 31 of 120 mirrored conversations') },
    ])
  })

  test('unknown ids, and ids of streams that are not mirrored, cause a sync of the lists', async () => {
    const { warehouse, store, processDue, followUps, found } = await openContext({
      streams: ['conversations', 'messages'],
    })
    await store({ id: '00000000-0000-4000-8000-000000000001', visitorId: await idOf(warehouse, 'visitors') })
    expect(await processDue()).toEqual({ kind: 'done', deliveries: 1, lists: true })
    expect([followUps, await found()]).toEqual([[true], ['lists, as none of its ids is known']])
  })

  test('deliveries stay due when the service is away or the worker stops', async () => {
    const { sandbox, warehouse, store, processDue, followUps } = await openContext()
    await store({ conversationId: await idOf(warehouse, 'conversations') })
    expect(await processDue(AbortSignal.abort())).toEqual({ kind: 'interrupted' })
    expect(await createDeliveries(warehouse.db, warehouse.kind).firstDuePerProject(Date.now())).toHaveLength(1)
    await sandbox.stop()
    expect(await processDue()).toMatchObject({ kind: 'failed' })
    const [left] = await warehouse.query('select due_at, taken_at, attempts from webhook_deliveries')
    expect(left).toMatchObject({ taken_at: null, attempts: 2 })
    expect(Number(left!.due_at)).toBeGreaterThan(Date.now() + 30_000)
    expect(followUps).toEqual([])
  })
})

test('deliveries of a project that is no longer configured wait', () => {
  const due = [
    { project: 'id 1', id: 'a' },
    { project: 'id 2', id: 'b' },
  ]
  expect(pendingWebhookJobs([{ name: 'shop', projectId: 'id 2' }], due)).toEqual([{ project: 'shop', delivery: 'b' }])
})
