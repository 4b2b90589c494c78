/**
 * A failing job is logged once, counted, shown with its reason and since when, and logged again
 * when it recovers.
 */

import { execFileSync } from 'node:child_process'
import { renameSync, statSync } from 'node:fs'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { startTestRedis } from '../jobs/queue-fixtures.ts'
import { findDifferences, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { usualPolicy } from '../support/budget-policy.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { waitUntil } from '../support/wait.ts'
import { type WorkerStores, workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { type LogReader, waitUntilEqual } from './log-reader.ts'
import { startWorkerProcess } from './worker-process.ts'

const [, redisStores] = workerStores
const size = {
  conversations: 6,
  visitors: 0,
  calls: 0,
  messagesPerConversation: [1, 2],
  days: 2,
} as const
const http = { host: '127.0.0.1', port: 0 }

const startTestSandbox = async () => {
  const sandbox = await startSandbox({ seed: 3, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  return sandbox
}
const withVisitors = {
  ...frequentSchedules,
  streams: ['conversations', 'messages', 'visitors', 'calls'],
} as const
const onlyVisitors = { ...frequentSchedules, streams: ['visitors'] } as const
const logged = ({ log }: LogReader, name: string) =>
  log.filter(({ event, level }) => event === name && level !== 'debug')
const readyz = async (address: string | null) => {
  const answer = await fetch(`${address}/readyz`)
  return { status: answer.status, ...((await answer.json()) as { missing: readonly string[] }) }
}
/** Resolves when the worker reports that exactly these are missing. */
const waitUntilMissing = (address: string | null, ...missing: string[]) =>
  waitUntil(async () => JSON.stringify((await readyz(address)).missing) === JSON.stringify(missing))
const metricsOf = async (address: string | null) => (await fetch(`${address}/metrics`)).text()

describe('a job that fails', () => {
  let stores: WorkerStores
  let warehouse: Warehouse
  let sandbox: Sandbox
  beforeEach(async ({ onTestFinished: finished }) => {
    stores = await redisStores!.make()
    finished(stores.drop)
    warehouse = await stores.open()
    sandbox = await startTestSandbox()
  })
  const streamOf = async (stream: string) => {
    const { streams } = await readStatus(
      warehouse.projectDb(sandbox.projectId),
      Date.now(),
      usualPolicy,
    )
    return streams.find((report) => report.stream === stream)!
  }

  test('is logged once, with its stream and its stack, counted, shown since when, and logged when it recovers', async () => {
    const worker = await startWorkerInProcess(
      workerConfig(stores, [projectConfigOf(sandbox, onlyVisitors)], { http }),
    )
    await worker.waitFor(({ event }) => event === 'sync.ended')
    await warehouse.query(`create function broken() returns trigger language plpgsql as
      $$ begin raise exception 'an unforeseen bug'; end $$`)
    await warehouse.query(
      'create trigger broken before insert on visitors for each row execute function broken()',
    )
    sandbox.mutate.addVisitor()
    const line = await worker.waitFor(
      ({ event, stream }) => event === 'job.failed' && stream === 'visitors',
    )
    expect(line).toMatchObject({
      level: 'error',
      job: 'sync',
      project: 'shop',
      why: 'an unforeseen bug',
    })
    expect(line.stack).toMatch(/an unforeseen bug\n +at /)
    const times = () =>
      worker.log.filter(({ event, stream }) => event === 'job.failed' && stream === 'visitors')
        .length
    while (times() < 2) await worker.waitForNext()
    expect(logged(worker, 'job.failed')).toHaveLength(1)
    const failing = await streamOf('visitors')
    expect(failing).toMatchObject({ failed: 'an unforeseen bug', failedSince: expect.any(String) })
    expect(Date.parse(failing.failedSince!)).toBeLessThanOrEqual(Date.parse(line.time))
    const text = await metricsOf(worker.address)
    expect(text).toMatch(
      /^deskmirror_job_failures_total\{job="sync",project="shop",stream="visitors"\} [2-9]/m,
    )
    expect(text).toMatch(
      /^deskmirror_job_failing_seconds\{job="sync",project="shop",stream="visitors"\} \d/m,
    )
    expect(text).toMatch(/^deskmirror_stream_failed\{project="shop",stream="visitors"\} 1/m)

    await warehouse.query('drop trigger broken on visitors')
    const over = await worker.waitFor(
      ({ event, stream }) => event === 'job.recovered' && stream === 'visitors',
    )
    expect(Number(over.failures)).toBeGreaterThanOrEqual(2)
    expect(await streamOf('visitors')).toMatchObject({ failed: null, failedSince: null })
    expect(await warehouse.query('select * from sync_failures')).toEqual([])
    expect(await findDifferences(warehouse, sandbox, sandbox.projectId, ['visitors'])).toEqual([])
  })

  test('because the service is away is logged once for each stream, and once when it succeeds', async () => {
    const worker = await startWorkerInProcess(
      workerConfig(stores, [projectConfigOf(sandbox, onlyVisitors)]),
    )
    await worker.waitFor(({ event }) => event === 'sync.ended')
    const { port } = new URL(sandbox.baseUrl)
    await sandbox.stop()
    const times = () => worker.log.filter(({ event }) => event === 'sync.failed').length
    while (times() < 2) await worker.waitForNext()
    expect(logged(worker, 'sync.failed')).toMatchObject([
      { stream: 'visitors', why: expect.stringContaining('ECONNREFUSED') },
    ])
    const again = await startSandbox({
      seed: 3,
      size,
      port: Number(port),
      switches: { 'rate.kind': 'off' },
    })
    onTestFinished(again.stop)
    expect(await worker.waitFor(({ event }) => event === 'job.recovered')).toMatchObject({
      stream: 'visitors',
    })
  })

  test('because a table is missing makes the worker not ready, with one log line, until the table is back', async () => {
    const worker = await startWorkerInProcess(
      workerConfig(stores, [projectConfigOf(sandbox, withVisitors)], { http }),
    )
    await waitUntilEqual(worker, warehouse, sandbox)
    expect(await readyz(worker.address)).toMatchObject({ status: 200 })
    await warehouse.query('alter table visitors rename to visitors_elsewhere')
    sandbox.mutate.addVisitor()
    await worker.waitFor(({ event }) => event === 'warehouse.lost')
    await waitUntilMissing(worker.address, 'warehouse')
    expect(logged(worker, 'warehouse.lost')).toMatchObject([
      // Whichever stream needs it first: the visitors, or one whose rows name them.
      { stream: expect.any(String), stack: expect.stringContaining(' at ') },
    ])
    expect(await streamOf('calls')).toMatchObject({ failed: null })
    expect(await streamOf('visitors')).toMatchObject({
      failed: expect.stringContaining('tables is missing'),
    })
    const noted = await warehouse.query(
      "select * from sync_failures where subject = 'visitors/incremental'",
    )
    expect(noted).toMatchObject([
      { job: 'sync', reason: expect.stringContaining('tables is missing') },
    ])
    await warehouse.query('alter table visitors_elsewhere rename to visitors')
    await worker.waitFor(({ event }) => event === 'warehouse.back')
    await waitUntilMissing(worker.address)
    expect(logged(worker, 'warehouse.lost')).toHaveLength(1)
    expect(logged(worker, 'warehouse.back')).toHaveLength(1)
    await waitUntilEqual(worker, warehouse, sandbox)
  })
})

test('a full disk is one log line that names the stream, and the rows are stored when there is space; the removal of the file ends the worker, to be started again', async () => {
  const stores = await workerStores[0]!.make()
  onTestFinished(stores.drop)
  const warehouse = await stores.open()
  const sandbox = await startTestSandbox()
  const queueUrl = `${await startTestRedis()}/15`
  const worker = startWorkerProcess({ databaseUrl: stores.databaseUrl, queueUrl }, sandbox)
  await waitUntilEqual(worker, warehouse, sandbox)
  const { address } = await worker.waitFor(({ event }) => event === 'http.opened')
  // The worker's files may not grow any more. Tests do not have the rights to make a full file
  // system.
  const path = stores.databaseUrl.slice('sqlite:'.length)
  const limit = (bytes: string) =>
    execFileSync('prlimit', ['--pid', String(worker.child.pid), `--fsize=${bytes}:`])
  limit(String(Math.max(statSync(path).size, statSync(`${path}-wal`).size)))
  for (let nth = 0; nth < 12; nth += 1)
    sandbox.mutate.addConversation(undefined, 'long '.repeat(20_000))
  const lost = await worker.waitFor(({ event }) => event === 'warehouse.lost')
  await waitUntilMissing(String(address), 'warehouse')
  expect(logged(worker, 'warehouse.lost')).toEqual([lost])
  expect(lost).toMatchObject({ job: 'sync', why: expect.stringContaining('the disk is full') })
  expect([lost.stream, lost.stack]).toEqual([expect.any(String), expect.stringContaining(' at ')])
  expect(await metricsOf(String(address))).toMatch(/^deskmirror_ready\{part="warehouse"\} 0/m)

  limit('unlimited')
  await worker.waitFor(({ event }) => event === 'warehouse.back')
  await waitUntilEqual(worker, warehouse, sandbox)
  expect((await readyz(String(address))).status).toBe(200)

  renameSync(path, `${path}.moved`)
  const { why } = await worker.waitFor(({ event }) => event === 'worker.failed')
  expect(why).toContain('moved, removed or replaced')
  expect(await worker.ended).toBe(1)
})

test('a Postgres that stops and starts again is one log line each, whatever the worker does meanwhile', async () => {
  const server = await startPrivatePostgres()
  onTestFinished(server.stop)
  const sandbox = await startTestSandbox()
  const stores = {
    databaseUrl: server.url,
    queueUrl: `${await startTestRedis()}/14`,
  } as WorkerStores
  const worker = await startWorkerInProcess(
    workerConfig(stores, [projectConfigOf(sandbox, frequentSchedules)], { http }),
  )
  const before = await openWarehouse(server.url)
  await waitUntilEqual(worker, before, sandbox)
  await before.close()
  await server.crash(async () => {
    sandbox.mutate.addConversation()
    await worker.waitFor(({ event }) => event === 'warehouse.lost')
    await waitUntilMissing(worker.address, 'warehouse')
    for (let lines = 0; lines < 5; lines += 1) await worker.waitForNext()
  })
  await worker.waitFor(({ event }) => event === 'warehouse.back')
  await waitUntilMissing(worker.address)
  const after = await openWarehouse(server.url)
  onTestFinished(after.close)
  await waitUntilEqual(worker, after, sandbox)
  expect([
    logged(worker, 'warehouse.lost').length,
    logged(worker, 'warehouse.back').length,
  ]).toEqual([1, 1])
  expect(logged(worker, 'job.failed')).toEqual([])
  // The queue is elsewhere.
  expect(logged(worker, 'queue.disconnected')).toEqual([])
  expect(await metricsOf(worker.address)).not.toMatch(/^deskmirror_queue_errors_total [1-9]/m)
})

test('a Redis that is away is named wherever its failures show, is one log line each, and the warehouse is not blamed', async () => {
  const location = await workerStores[0]!.make()
  onTestFinished(location.drop)
  const sandbox = await startTestSandbox()
  const proxy = await startTcpProxy(`${await startTestRedis()}/13`)
  const stores = { databaseUrl: location.databaseUrl, queueUrl: proxy.url } as WorkerStores
  const worker = await startWorkerInProcess(
    workerConfig(stores, [projectConfigOf(sandbox, frequentSchedules)], { http }),
  )
  const warehouse = await location.open()
  await waitUntilEqual(worker, warehouse, sandbox)
  proxy.disconnect()
  await worker.waitFor(({ event }) => event === 'queue.disconnected')
  await waitUntilMissing(worker.address, 'queue')
  expect((await readyz(worker.address)).status).toBe(503)
  const failures = () =>
    warehouse.query("select reason from sync_failures where job = 'maintenance'")
  const reasons: unknown[] = []
  await waitUntil(async () => reasons.push(...(await failures())) > 0)
  const named = `redis://127.0.0.1:${new URL(proxy.url).port}/13`
  expect(reasons).toEqual([{ reason: expect.stringContaining(`cannot use the queue ${named}: `) }])
  proxy.restore()
  await worker.waitFor(({ event }) => event === 'queue.connected')
  await waitUntilMissing(worker.address)
  const lines = logged(worker, 'queue.connected')
  expect(lines).toMatchObject([{ for_ms: expect.any(Number), errors: expect.any(Number) }])
  expect(logged(worker, 'queue.disconnected')).toMatchObject([{ server: named }])
  expect(logged(worker, 'http.not_ready')).toHaveLength(1)
  await waitUntil(async () => (await failures()).length === 0)
  expect([...logged(worker, 'warehouse.lost'), ...logged(worker, 'job.failed')]).toEqual([])
  expect(await metricsOf(worker.address)).toMatch(/^deskmirror_queue_errors_total [1-9]/m)
})
