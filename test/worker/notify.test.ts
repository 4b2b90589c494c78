/** What people are notified of, and that none of it is lost, whatever is interrupted. */
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { defaultProject, type ProjectConfig } from '../../src/config/config.ts'
import type { JobIdentity } from '../../src/maintenance/maintenance.ts'
import { markSynced } from '../../src/maintenance/sql/project-states.ts'
import { setPause } from '../../src/maintenance/sql/projects.ts'
import { listNotified } from '../../src/maintenance/sql/status-report.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { openConnections } from '../../src/service/exchange.ts'
import { secret } from '../../src/values/secret.ts'
import { createNotifier } from '../../src/worker/notify.ts'
import { openViewsWarehouse } from '../analytics/sql/view-fixtures.ts'
import { captureLog } from '../http/test-server.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { insertFlag, openOutbox, project, queueFlags } from '../outbox/batch-fixture.ts'
import { databases } from '../support/databases.ts'
import { channelPath, startChannel } from './channel.ts'
import { useWorkerStores, workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { startWorkerProcess } from './worker-process.ts'

/** A worker's notifier; another one over the same warehouse is another worker, or a restarted one. */
function openNotifier(
  warehouse: Warehouse,
  over: Partial<ProjectConfig>,
  {
    now = Date.now,
    projectIds = [over.projectId ?? project],
    databaseUrl = 'sqlite:/tmp/x.db',
  }: {
    readonly now?: () => number
    readonly projectIds?: readonly string[]
    readonly databaseUrl?: string
  } = {},
) {
  const connections = openConnections()
  onTestFinished(connections.close)
  const { log, lines } = captureLog()
  const counted: string[] = []
  const failed: string[] = []
  const failures = {
    recordFailure: async ({ job }: JobIdentity, error: unknown) => {
      failed.push(`${job}: ${error}`)
      return true
    },
    recordSuccess: async () => {},
  }
  const metrics = {
    countNotification: ({ outcome }: { outcome: string }) => void counted.push(outcome),
  }
  const config = { databaseUrl, consoleUrl: 'https://desk.example.com' }
  const resources = { warehouse, metrics, log, connections }
  const tick = createNotifier(config, resources, async () => true, now)
  const projects = projectIds.map((projectId) =>
    defaultProject({
      name: 'shop',
      baseUrl: new URL('https://api.example.com'),
      apiKey: secret('k'),
      ...over,
      projectId,
    }),
  )
  const run = () => tick(projects, failures, null, new AbortController().signal)
  return { run, failed, counted, lines }
}

for (const database of databases) {
  test(`each condition is announced once, for all workers, without words of people — ${database.name}`, async () => {
    const { warehouse, admin } = await openOutbox(database)
    const { texts, notify } = await startChannel()
    await queueFlags(admin, 2, { status: 'draft', batchId: 'for Jane Doe', createdBy: 'ann' })
    await setPause(warehouse.db, project, { until: 1, keyFingerprint: 'k', why: 'no' })
    await warehouse.query(`insert into sync_gaps (project_id, id, stream, reason, found_at, seen_at,
      dedup_key) values ('${project}', 'a', 'calls', 'row of Jane', '2026-01-01T00:00:00Z', 1, 'a')`)
    await insertFlag(warehouse, { id: 'u', batch_id: 'b' })
    await warehouse.query(`update writebacks set status = 'sending' where id = 'u'`)
    await warehouse.query(`update writebacks set status = 'uncertain',
      finished_at = '2026-11-15T00:00:00Z' where id = 'u'`)
    const first = openNotifier(warehouse, { notify })
    await first.run()
    await first.run()
    await openNotifier(warehouse, { notify }).run()
    expect(first.failed).toEqual([])
    expect(texts).toEqual([
      [
        'shop: A batch waits for approval. https://desk.example.com/console/p/shop/writebacks',
        'shop: A reply or note is uncertain: it may have arrived, and a person decides. ' +
          'https://desk.example.com/console/p/shop/writebacks',
        'shop: The service denies the key: nothing is read or sent. ' +
          'https://desk.example.com/console/p/shop',
        'shop: A gap has opened: data is missing. https://desk.example.com/console/p/shop/streams',
      ].join('\n'),
    ])
    expect(first.counted).toEqual(['sent'])
    expect(first.lines.join()).not.toMatch(/Jane|s3cr3t|abc/)
    await queueFlags(admin, 1, { status: 'draft', batchId: 'another' })
    await first.run()
    expect(texts.slice(1)).toEqual([
      'shop: A batch waits for approval. https://desk.example.com/console/p/shop/writebacks',
    ])
  })
}

test('a full disk is announced once to a channel, by the first project that has not moved away', async () => {
  const { warehouse } = await openOutbox(databases[0])
  const { texts, notify } = await startChannel()
  const moved = '00000000-0000-4000-8000-00000000000a'
  await warehouse.query(`insert into sync_moves (project_id, move_id, state, other, since,
    first_place) values ('${moved}', 'm', 'moved', 'sqlite:/tmp/y.db', '2026-01-01T00:00:00Z', '')`)
  const projectIds = [moved, project, '00000000-0000-4000-8000-00000000000b']
  // A file system that never has space.
  const databaseUrl = 'sqlite:/proc/x.db'
  const { run, failed } = openNotifier(warehouse, { notify }, { projectIds, databaseUrl })
  await run()
  await run()
  expect([failed, texts]).toEqual([[], ['shop: The disk is nearly full: 0 bytes left.']])
})

describe('two workers', () => {
  const stores = useWorkerStores(workerStores.find(({ kind }) => kind === 'redis')!.make)

  test('announce what one of them sees, once, and count it', async () => {
    const size = { conversations: 1, visitors: 1, calls: 0, days: 1 }
    const sandbox = await startSandbox({ size })
    onTestFinished(() => sandbox.stop())
    const { texts, notify } = await startChannel()
    const own = projectConfigOf(sandbox, { ...frequentSchedules, notify, name: 'shop' })
    const config = workerConfig(stores, [own], { http: { host: '127.0.0.1', port: 0 } })
    const workers = [await startWorkerInProcess(config), await startWorkerInProcess(config)]
    const outbox = createOutbox(stores.warehouse.projectDb(sandbox.projectId))
    const approvals = () => texts.filter((text) => text.includes('waits for approval'))
    for (const batchId of ['first', 'second']) {
      await queueFlags(outbox, 1, { status: 'draft', batchId })
      await expect.poll(() => approvals().length).toBe(batchId === 'first' ? 1 : 2)
    }
    const metrics = await Promise.all(
      workers.map(async ({ address }) => (await fetch(`${address}/metrics`)).text()),
    )
    expect(metrics.filter((text) => text.includes('deskmirror_notifications_total{'))).toEqual([
      expect.stringMatching(/deskmirror_notifications_total\{project="shop",outcome="sent"\} \d/),
    ])
  })
})

describe('the address of a channel', () => {
  const [sqlite] = databases

  test('is asked again when it says so, and rests when it refuses; no error names it', async () => {
    const { warehouse, admin } = await openOutbox(sqlite)
    await queueFlags(admin, 1, { status: 'draft' })
    const limited = { status: 429, headers: { 'retry-after': '0' } }
    const { texts, answers, notify } = await startChannel({ status: 404 })
    let now = Date.now()
    const notifier = openNotifier(warehouse, { notify }, { now: () => now })
    await notifier.run()
    await notifier.run()
    expect(notifier.failed).toEqual(['notify: Error: the address of `notify` answers 404'])
    now += 6 * 60_000
    answers.push({ status: 503 }, limited)
    await notifier.run()
    expect([texts.length, notifier.counted]).toEqual([1, ['failed', 'sent']])
    const away = openNotifier(warehouse, { notify: secret(`http://127.0.0.1:1${channelPath}`) })
    await queueFlags(admin, 1, { status: 'draft', batchId: 'more' })
    await away.run()
    expect(away.failed).toEqual([
      'notify: Error: the address of `notify` does not answer ECONNREFUSED',
    ])
  })

  test('gets a text again if the worker is killed before it records it, and then no more', async () => {
    const stores = await workerStores[0]!.make()
    onTestFinished(stores.drop)
    const warehouse = await stores.open()
    await queueFlags(createOutbox(warehouse.projectDb(project)), 1, { status: 'draft' })
    const waits = /^(default|shop): A batch waits for approval\./
    const { texts, answers, notify } = await startChannel()
    const worker = startWorkerProcess(
      stores,
      { baseUrl: 'http://127.0.0.1:1', projectId: project, key: 'k' },
      { DESKMIRROR_NOTIFY: notify.reveal(), DESKMIRROR_HTTP: 'off' },
    )
    answers.push({ status: 200, before: () => worker.child.kill('SIGKILL') })
    expect(await worker.ended).toBe(null)
    const next = openNotifier(warehouse, { notify })
    await next.run()
    await next.run()
    await openNotifier(warehouse, { notify }).run()
    expect([next.failed, texts]).toEqual([[], Array(2).fill(expect.stringMatching(waits))])
  })

  test('gets a text once from a worker that lives and cannot record it, as on a full disk', async () => {
    const { warehouse, admin } = await openOutbox(sqlite)
    await queueFlags(admin, 1, { status: 'draft' })
    const { texts, notify } = await startChannel()
    await warehouse.query(`create trigger full before insert on sync_notifications
      begin select raise(abort, 'database or disk is full'); end`)
    const first = openNotifier(warehouse, { notify })
    await first.run()
    await first.run()
    expect([texts.length, first.failed.length]).toEqual([1, 2])
    await openNotifier(warehouse, { notify }).run()
    expect(texts.length).toBe(2)
    await warehouse.query('drop trigger full')
    await first.run()
    await openNotifier(warehouse, { notify }).run()
    expect(texts.length).toBe(2)
  })
})

test('on Monday at eight, the numbers of the week, as soon as all of it has been read', async () => {
  const { warehouse } = await openViewsWarehouse(databases[0])
  const { texts, notify } = await startChannel()
  const berlin = { notify, projectId: 'main', timeZone: 'Europe/Berlin' }
  let now = Date.parse('2025-11-03T06:59:00Z')
  const { run, failed } = openNotifier(warehouse, berlin, { now: () => now })
  const synced = (at: string) =>
    markSynced(warehouse.db, 'main', ['conversations', 'messages'], Date.parse(at))
  await synced('2025-11-02T22:59:00Z')
  // A worker that was set up in that week has nothing to say of the week before.
  await run()
  expect([texts, await listNotified(warehouse.projectDb('main'))]).toEqual([[], []])
  now += 60_000
  await run()
  // Sunday had a minute left.
  expect(texts).toEqual([])
  await synced('2025-11-02T23:00:00Z')
  await run()
  await run()
  now += 24 * 3_600_000
  await openNotifier(warehouse, berlin, { now: () => now }).run()
  expect([failed, texts.length]).toEqual([[], 1])
  expect(texts[0]?.split('\n')).toEqual([
    'shop: the week from 2025-10-27 to 2025-11-02 https://desk.example.com/console/p/shop/report',
    'Conversations started: 3, +1 (+50 %)',
    'Waits of visitors: 3; answered by a human 0, by the AI 1, closed without an answer 0',
    'First human response, median: –',
    'Open at the end: 3, not compared: days are incomplete; of these waiting: 2',
  ])
})
