/** What fails in a worker is said once, counted, shown since when and why, and said again when it is over. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { startTestRedis } from '../../jobs/queue-fixtures.ts'
import { projectConfigOf, findDifferences } from '../../sync/sync-sandbox.ts'
import { startPrivatePostgres } from '../../support/postgres-server.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { type WorkerStores, workerStores } from './fixtures.ts'
import { startWorkerProcess } from './worker-process.ts'
import type { LogReader } from './log-reader.ts'
import { workerConfig, frequentSchedules, startWorkerInProcess } from './in-process-worker.ts'

const [, fleet] = workerStores
const size = { conversations: 6, visitors: 3, calls: 2, messagesPerConversation: [1, 2], days: 2 } as const
const patience = { interval: 100, timeout: 50_000 }
const http = { host: '127.0.0.1', port: 0 }

const sandboxHere = async () => {
  const sandbox = await startSandbox({ seed: 3, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  return sandbox
}
const equal = async (worker: LogReader, warehouse: Warehouse, sandbox: Sandbox) => {
  while ((await findDifferences(warehouse, sandbox)).length > 0) await worker.waitForNext()
}
const said = ({ log }: LogReader, name: string) => log.filter(({ event, level }) => event === name && level !== 'debug')
const readyz = async (address: string | null) => {
  const answer = await fetch(`${address}/readyz`)
  return { status: answer.status, ...((await answer.json()) as { missing: readonly string[] }) }
}
/** Resolves when the worker says that it waits for exactly these. */
const waitsFor = (address: string | null, ...missing: string[]) =>
  vi.waitUntil(async () => JSON.stringify((await readyz(address)).missing) === JSON.stringify(missing), patience)
const measured = async (address: string | null) => (await fetch(`${address}/metrics`)).text()

describe('a job that fails', () => {
  let office: WorkerStores
  let warehouse: Warehouse
  let sandbox: Sandbox
  beforeEach(async ({ onTestFinished: finished }) => {
    office = await fleet!.make()
    finished(office.drop)
    warehouse = await office.open()
    sandbox = await sandboxHere()
  })
  const streamOf = async (stream: string) => {
    const { streams } = await warehouse.status(sandbox.projectId, Date.now(), { requests: 600, windowMs: 60_000 })
    return streams.find((it) => it.stream === stream)!
  }

  test('is said once, with its stream and its stack, counted, shown since when, and said when it is over', async () => {
    const worker = await startWorkerInProcess(workerConfig(office, [projectConfigOf(sandbox, frequentSchedules)], { http }))
    await equal(worker, warehouse, sandbox)
    await warehouse.query(`create function broken() returns trigger language plpgsql as
      $$ begin raise exception 'a bug that nobody foresaw'; end $$`)
    await warehouse.query('create trigger broken before insert on visitors for each row execute function broken()')
    sandbox.mutate.addVisitor()
    const line = await worker.waitFor(({ event, stream }) => event === 'job.failed' && stream === 'visitors')
    expect(line).toMatchObject({ level: 'error', job: 'pass', project: 'desk', why: 'a bug that nobody foresaw' })
    expect(line.stack).toMatch(/a bug that nobody foresaw\n +at /)
    const times = () => worker.log.filter(({ event, stream }) => event === 'job.failed' && stream === 'visitors').length
    while (times() < 2) await worker.waitForNext()
    expect(said(worker, 'job.failed')).toHaveLength(1)
    const failing = await streamOf('visitors')
    expect(failing).toMatchObject({ failed: 'a bug that nobody foresaw', failedSince: expect.any(String) })
    expect(Date.parse(failing.failedSince!)).toBeLessThanOrEqual(Date.parse(line.time))
    const text = await measured(worker.address)
    expect(text).toMatch(/^deskmirror_job_failures_total\{job="pass",project="desk",stream="visitors"\} [2-9]/m)
    expect(text).toMatch(/^deskmirror_job_failing_seconds\{job="pass",project="desk",stream="visitors"\} \d/m)
    expect(text).toMatch(/^deskmirror_stream_failed\{project="desk",stream="visitors"\} 1/m)

    await warehouse.query('drop trigger broken on visitors')
    const over = await worker.waitFor(({ event, stream }) => event === 'job.recovered' && stream === 'visitors')
    expect(Number(over.failures)).toBeGreaterThanOrEqual(2)
    expect(await streamOf('visitors')).toMatchObject({ failed: null, failedSince: null })
    expect(await warehouse.query('select * from sync_failures')).toEqual([])
    await equal(worker, warehouse, sandbox)
  })

  test('as the service is away is said once for each stream, and once when it has succeeded', async () => {
    const project = projectConfigOf(sandbox, { ...frequentSchedules, streams: ['visitors'] })
    const worker = await startWorkerInProcess(workerConfig(office, [project]))
    await worker.waitFor(({ event }) => event === 'pass.ended')
    const { port } = new URL(sandbox.baseUrl)
    await sandbox.stop()
    const times = () => worker.log.filter(({ event }) => event === 'pass.failed').length
    while (times() < 2) await worker.waitForNext()
    expect(said(worker, 'pass.failed')).toMatchObject([
      { stream: 'visitors', why: expect.stringContaining('ECONNREFUSED') },
    ])
    const again = await startSandbox({ seed: 3, size, port: Number(port), switches: { 'rate.kind': 'off' } })
    onTestFinished(again.stop)
    expect(await worker.waitFor(({ event }) => event === 'job.recovered')).toMatchObject({ stream: 'visitors' })
  })

  test('as a table is gone makes the worker not ready, in one line, until the table is back', async () => {
    const worker = await startWorkerInProcess(workerConfig(office, [projectConfigOf(sandbox, frequentSchedules)], { http }))
    await equal(worker, warehouse, sandbox)
    expect(await readyz(worker.address)).toMatchObject({ status: 200 })
    await warehouse.query('alter table visitors rename to visitors_elsewhere')
    sandbox.mutate.addVisitor()
    await waitsFor(worker.address, 'warehouse')
    expect(said(worker, 'warehouse.lost')).toMatchObject([
      { stream: 'visitors', stack: expect.stringContaining(' at ') },
    ])
    expect(await streamOf('calls')).toMatchObject({ failed: null })
    expect(await streamOf('visitors')).toMatchObject({ failed: expect.stringContaining('tables is not there') })
    const noted = await warehouse.query("select * from sync_failures where subject = 'visitors/incremental'")
    expect(noted).toMatchObject([{ job: 'pass', reason: expect.stringContaining('tables is not there') }])
    await warehouse.query('alter table visitors_elsewhere rename to visitors')
    await waitsFor(worker.address)
    expect(said(worker, 'warehouse.lost')).toHaveLength(1)
    expect(said(worker, 'warehouse.back')).toHaveLength(1)
    await equal(worker, warehouse, sandbox)
  })
})

test('a disk that is full is one line that names the stream, and what had no room is stored when there is some', async () => {
  const office = await workerStores[0]!.make()
  onTestFinished(office.drop)
  const warehouse = await office.open()
  const sandbox = await sandboxHere()
  const queueUrl = `${await startTestRedis()}/15`
  const worker = startWorkerProcess({ databaseUrl: office.databaseUrl, queueUrl }, sandbox)
  await equal(worker, warehouse, sandbox)
  const { address } = await worker.waitFor(({ event }) => event === 'http.opened')
  // Files of the worker may not grow any more. A file system that is full needs rights to make that tests do not have.
  const path = office.databaseUrl.slice('sqlite:'.length)
  const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(worker.child.pid), `--fsize=${bytes}:`])
  limit(String(Math.max(statSync(path).size, statSync(`${path}-wal`).size)))
  for (let nth = 0; nth < 60; nth += 1) sandbox.mutate.addConversation(undefined, 'long '.repeat(4000))
  await waitsFor(String(address), 'warehouse')
  const [lost] = said(worker, 'warehouse.lost')
  expect(lost).toMatchObject({ job: 'pass', why: expect.stringContaining('the disk is full') })
  expect([lost!.stream, lost!.stack]).toEqual([expect.any(String), expect.stringContaining(' at ')])
  expect(await measured(String(address))).toMatch(/^deskmirror_ready\{part="warehouse"\} 0/m)

  limit('unlimited')
  await worker.waitFor(({ event }) => event === 'warehouse.back')
  await equal(worker, warehouse, sandbox)
  expect((await readyz(String(address))).status).toBe(200)
  worker.child.kill('SIGTERM')
  expect(await worker.ended).toBe(0)
})

test('a Postgres that stops and starts again is one line each, whatever the jobs of the worker did meanwhile', async () => {
  const server = await startPrivatePostgres()
  onTestFinished(server.stop)
  const sandbox = await sandboxHere()
  const office = { databaseUrl: server.url, queueUrl: `${await startTestRedis()}/14` } as WorkerStores
  const worker = await startWorkerInProcess(workerConfig(office, [projectConfigOf(sandbox, frequentSchedules)], { http }))
  const before = await openWarehouse(server.url)
  await equal(worker, before, sandbox)
  await before.close()
  await server.crash(async () => {
    sandbox.mutate.addConversation()
    await waitsFor(worker.address, 'warehouse')
    for (let lines = 0; lines < 5; lines += 1) await worker.waitForNext()
  })
  await waitsFor(worker.address)
  const after = await openWarehouse(server.url)
  onTestFinished(after.close)
  await equal(worker, after, sandbox)
  expect([said(worker, 'warehouse.lost').length, said(worker, 'warehouse.back').length]).toEqual([1, 1])
  expect(said(worker, 'job.failed')).toEqual([])
})

test('a Redis that is away is named where somebody asks, and is one line when it goes and one when it is back', async () => {
  const place = await workerStores[0]!.make()
  onTestFinished(place.drop)
  const sandbox = await sandboxHere()
  const way = await startTcpProxy(`${await startTestRedis()}/13`)
  const office = { databaseUrl: place.databaseUrl, queueUrl: way.url } as WorkerStores
  const worker = await startWorkerInProcess(workerConfig(office, [projectConfigOf(sandbox, frequentSchedules)], { http }))
  const warehouse = await place.open()
  await equal(worker, warehouse, sandbox)
  way.disconnect()
  await waitsFor(worker.address, 'queue')
  expect((await readyz(worker.address)).status).toBe(503)
  way.restore()
  await worker.waitFor(({ event }) => event === 'queue.connected')
  await waitsFor(worker.address)
  const lines = said(worker, 'queue.connected')
  expect(lines).toMatchObject([{ backend: 'redis', for_ms: expect.any(Number), errors: expect.any(Number) }])
  expect(said(worker, 'queue.lost')).toHaveLength(1)
  expect(said(worker, 'http.unready')).toHaveLength(1)
  expect(await measured(worker.address)).toMatch(/^deskmirror_queue_errors_total [1-9]/m)
})
