/**
 * A worker whose queue is in its process: alone on its warehouse, and it finds there what the queue
 * has forgotten.
 */
import { chownSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import { UserError } from '../../src/values/user-error.ts'
import { heartbeatTimeoutMs } from '../../src/warehouse/process-identity.ts'
import { projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { sampledTest } from '../support/sampled.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import type { LogLine } from './log-reader.ts'
import { startWorkerProcess } from './worker-process.ts'

const size = {
  conversations: 6,
  visitors: 3,
  calls: 1,
  messagesPerConversation: [1, 2],
  days: 2,
} as const
const off = { kind: 'off' } as const
const noSchedules = {
  incremental: off,
  reconcile: off,
  analytics: off,
  availability: off,
  audit: off,
}

async function startTest(make: () => Promise<DatabaseInstance>) {
  const location = await make()
  onTestFinished(location.drop)
  const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  const stores = { ...location, databaseUrl: location.url!, queueUrl: 'embedded' }
  return { stores, sandbox, warehouse: await location.open() }
}

test('what root starts beside a SQLite file belongs to its owner, and a lock that cannot be opened is no bug', async () => {
  const { stores, sandbox } = await startTest(databases[0]!.make)
  const path = stores.databaseUrl.slice('sqlite:'.length)
  const config = workerConfig(stores, [projectConfigOf(sandbox, { schedules: noSchedules })])
  const owner = process.getuid?.() === 0 ? 65_534 : process.getuid!()
  chownSync(path, owner, -1)
  await (await startWorkerInProcess(config)).stop()
  expect(statSync(`${path}-worker`).uid).toBe(owner)
  rmSync(`${path}-worker`)
  mkdirSync(`${path}-worker`)
  await expect(startWorkerInProcess(config)).rejects.toMatchObject({
    what: expect.stringContaining('-worker'),
    exitCode: 2,
  })
})

test('it runs alone on a SQLite file also if another one reaches the file by a link', async () => {
  const { stores, sandbox } = await startTest(databases[0]!.make)
  const path = stores.databaseUrl.slice('sqlite:'.length)
  const link = `${path}.link`
  symlinkSync(path, link)
  const configFor = (file: string) =>
    workerConfig({ ...stores, databaseUrl: `sqlite:${file}` }, [
      projectConfigOf(sandbox, { schedules: noSchedules }),
    ])
  const first = await startWorkerInProcess(configFor(path))
  await expect(startWorkerInProcess(configFor(link))).rejects.toThrow('second worker')
  await first.stop()
  await (await startWorkerInProcess(configFor(link))).stop()
  expect(existsSync(`${link}-worker`)).toBe(false)
})

describe.for(databases)('on a warehouse in: $name', ({ make, name }) => {
  test('it runs alone: a second one is refused with the reason, and may follow at once when the first was killed', async () => {
    const { stores, sandbox } = await startTest(make)
    const config = workerConfig(stores, [projectConfigOf(sandbox, { schedules: noSchedules })])
    const killed = startWorkerProcess(stores, sandbox)
    await killed.waitFor(({ event }) => event === 'http.opened')
    await killed.waitFor(({ event }) => event === 'sync.ended')
    const refused = await startWorkerInProcess(config).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(UserError)
    expect(refused).toMatchObject({
      what: expect.stringContaining('cannot start a second worker with the embedded queue'),
      why: expect.stringMatching(new RegExp(`^process ${killed.child.pid} on .* runs one$`)),
      next: expect.stringContaining('to a Redis that all workers share'),
      exitCode: 1,
    })
    killed.child.kill('SIGKILL')
    await killed.ended
    const next = await startWorkerInProcess(config)
    await expect(startWorkerInProcess(config)).rejects.toThrow('second worker')
    await next.stop()
    await (await startWorkerInProcess(config)).stop()
    expect(
      name === 'sqlite' && !existsSync(`${stores.databaseUrl.slice('sqlite:'.length)}-worker`),
    ).toBe(false)
  })

  sampledTest(
    name === 'sqlite',
    'what schedules missed while no worker ran is caught up at the start, once',
    async () => {
      const { stores, sandbox, warehouse } = await startTest(make)
      const fired = new Date(Date.now() - 60_000)
      const nightly = {
        kind: 'cron',
        pattern: `${fired.getUTCMinutes()} ${fired.getUTCHours()} * * *`,
      } as const
      const schedules = { ...frequentSchedules.schedules, reconcile: nightly, audit: nightly }
      const streams = ['conversations', 'messages'] as const
      const project = projectConfigOf(sandbox, { schedules, streams, auditSample: 2 })
      await syncOnce(stores.databaseUrl, sandbox, { project: { streams } })
      const yesterday = new Date(Date.now() - 86_400_000).toISOString().replace(/\.\d+/, '')
      await warehouse.query(`update sync_runs set started_at = '${yesterday}'`)
      await warehouse.query(`insert into sync_runs (project_id, id, mode, started_at, finished_at, outcome, requests, rows_read,
      rows_changed, strings_escaped, beat_at) values ('${sandbox.projectId}', '0', 'incremental', '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00Z', 'complete', 1, 0, 0, 0, 0), ('another', '0', 'incremental', '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00Z', 'complete', 1, 0, 0, 0, 0)`)
      const caughtUp = ({ event, mode, stream }: LogLine) =>
        event === 'housekeeping.completed' ||
        event === 'audit.ended' ||
        (event === 'sync.ended' && mode === 'reconcile')
          ? [[event, stream].filter(Boolean).join(' ')]
          : []

      const first = await startWorkerInProcess(workerConfig(stores, [project]))
      while (first.log.flatMap(caughtUp).length < 4) await first.waitForNext()
      await first.waitFor(({ event, mode }) => event === 'sync.ended' && mode === 'incremental')
      await first.stop()
      expect(first.log.flatMap(caughtUp).toSorted()).toEqual([
        'audit.ended conversations',
        'housekeeping.completed',
        'sync.ended conversations',
        'sync.ended messages',
      ])
      const second = await startWorkerInProcess(workerConfig(stores, [project]))
      await second.waitFor(({ event, mode }) => event === 'sync.ended' && mode === 'incremental')
      expect(second.log.flatMap(caughtUp)).toEqual([])
    },
  )
})

test('in Postgres it waits for a worker elsewhere that may have been killed, and stops when it has lost its lock', async () => {
  const { stores, sandbox, warehouse } = await startTest(databases[1].make)
  const expiresAt = Date.now() + 2000
  await warehouse.query(`insert into sync_locks (project_id, stream, token, host, pid, process, since, beat_at)
    values ('*', 'worker', 'other', 'elsewhere', 7, 'boot@1', '2026-01-01T00:00:00Z', ${expiresAt - heartbeatTimeoutMs})`)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const lost = Promise.withResolvers<Error>()
  const config = workerConfig(stores, [projectConfigOf(sandbox, { schedules: noSchedules })])
  const worker = await startWorkerInProcess(config, { onFatal: lost.resolve })
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt)
  expect(worker.log).toContainEqual(
    expect.objectContaining({ event: 'worker.waiting', holder: 'process 7 on elsewhere' }),
  )
  await warehouse.query(`update sync_locks set token = 'other' where stream = 'worker'`)
  vi.advanceTimersByTime(heartbeatTimeoutMs)
  expect((await lost.promise).message).toContain('another worker has taken over')
})

test('it has no page for its queues', async () => {
  const { stores, sandbox } = await startTest(databases[0].make)
  const project = projectConfigOf(sandbox, { schedules: noSchedules })
  const http = { host: '127.0.0.1', port: 0 }
  const worker = await startWorkerInProcess(
    workerConfig(stores, [project], { http, httpToken: secret('t'.repeat(32)) }),
  )
  const ask = (path: string) =>
    fetch(`${worker.address}${path}`, { headers: { authorization: `Bearer ${'t'.repeat(32)}` } })
  for (const path of ['/queues', '/queues/']) {
    const answer = await ask(path)
    expect([answer.status, await answer.text()]).toEqual([
      404,
      expect.stringContaining('embedded queue has no page'),
    ])
  }
  expect(await (await ask('/readyz')).json()).toEqual({ ready: true, missing: [] })
})
