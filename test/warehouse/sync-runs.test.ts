/** Sync runs, the locks that keep them apart, and the status report. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { recordBudgetLoss, setPause } from '../../src/maintenance/sql/projects.ts'
import { deleteOldRecords } from '../../src/maintenance/sql/retention.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import {
  listLiveWorkers,
  recordWorkerHeartbeat,
  removeWorker,
} from '../../src/maintenance/sql/workers.ts'
import type { StreamReport } from '../../src/mirror/core/reports.ts'
import { acquireStreamLocks, findLockHolder } from '../../src/mirror/sql/stream-locks.ts'
import { createKeyUse } from '../../src/service/sql/budget-records.ts'
import {
  addSample,
  type RequestSample,
  requestsSince,
} from '../../src/service/sql/request-counts.ts'

import { currentProcess, isProcessAlive } from '../../src/warehouse/process-identity.ts'
import { usualPolicy } from '../support/budget-policy.ts'
import { databases } from '../support/databases.ts'
import { call, commit, conversation, visitor } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const now = Date.UTC(2026, 5, 1)
const report = (
  stream: StreamReport['stream'],
  rest: Partial<StreamReport> = {},
): StreamReport => ({
  stream,
  requests: 3,
  rows: 10,
  changed: 2,
  tookMs: 5,
  skipped: null,
  failed: null,
  ...rest,
})

for (const db of databases) {
  describe(`sync runs — ${db.name}`, () => {
    test('only one process can lock a stream, until it is released', async () => {
      const { warehouse } = await openTestWarehouse(db)
      const first = await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
      if (!first.held) throw new Error('the lock of an empty warehouse is free')
      expect(await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)).toEqual({
        held: false,
        stream: 'calls',
        holder: expect.stringContaining(`process ${process.pid} on `),
        since: '2026-06-01T00:00:00Z',
        isAlive: true,
      })
      expect((await acquireStreamLocks(warehouse.projectDb('other'), ['calls'], now)).held).toBe(
        true,
      )
      expect(await first.heartbeat(now + 1)).toBe(true)
      await first.release()
      expect((await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)).held).toBe(
        true,
      )
      expect(await first.heartbeat(now + 2)).toBe(false)
    })

    test('of several simultaneous attempts, one gets the lock', async () => {
      const { warehouse } = await openTestWarehouse(db)
      const attempts = await Promise.all(
        Array.from({ length: 5 }, () =>
          acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now),
        ),
      )
      expect(attempts.filter(({ held }) => held)).toHaveLength(1)
    })

    test('the lock of a dead process is taken over at once, and its run has failed', async () => {
      const { warehouse, mirror, one, all } = await openTestWarehouse(db)
      expect((await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)).held).toBe(
        true,
      )
      const run = await mirror.startRun('full', now)
      await mirror.heartbeat(run, 7, now + 5000)
      // The process id now belongs to a process that started at another time.
      const [machine] = currentProcess().process.split('@')
      await all(`update sync_locks set process = '${machine}@long ago'`)
      expect(
        (await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now + 6000)).held,
      ).toBe(true)
      expect(await one('select outcome, finished_at, requests from sync_runs')).toEqual({
        outcome: 'failed',
        finished_at: '2026-06-01T00:00:05Z',
        requests: 7,
      })
    })

    test('a lock of another machine is taken over only after its heartbeats have stopped', async () => {
      const { warehouse, all } = await openTestWarehouse(db)
      await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
      await all("update sync_locks set host = 'elsewhere'")
      expect(
        (await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now + 59_999)).held,
      ).toBe(false)
      expect(
        (await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now + 60_000)).held,
      ).toBe(true)
    })

    test('a sync counts the rows of streams that it changed, and status shows the count of a large one', async () => {
      const { warehouse, mirror, one, all } = await openTestWarehouse(db)
      await mirror.commit(commit('calls', [call('a'), call('b')]))
      const reports = [report('calls', { changed: 2 }), report('visitors', { changed: 0 })]
      await mirror.finishRun(await mirror.startRun('full', now), 'complete', reports, now)
      const calls = async () =>
        (await readStatus(warehouse.projectDb('main'), now, usualPolicy)).streams.find(
          ({ stream }) => stream === 'calls',
        )
      expect(
        await one("select counted_rows, counted_at from sync_streams where stream = 'calls'"),
      ).toEqual({
        counted_rows: 2,
        counted_at: '2026-06-01T00:00:00Z',
      })
      expect(await one("select counted_rows from sync_streams where stream = 'visitors'")).toEqual({
        counted_rows: null,
      })
      expect(await calls()).toMatchObject({ rows: 2, countedAt: null })
      await all("update calls set deleted_at = '2026-05-31T00:00:00Z' where id = 'a'")
      await all("update sync_streams set counted_rows = 60000 where stream = 'calls'")
      expect(await calls()).toMatchObject({
        rows: 59_999,
        deleted: 1,
        countedAt: '2026-06-01T00:00:00Z',
      })
    })

    test('several streams are locked together or not at all, and others stay free', async () => {
      const { warehouse } = await openTestWarehouse(db)
      const both = await acquireStreamLocks(warehouse.projectDb('main'), ['calls', 'visitors'], now)
      if (!both.held) throw new Error('the locks of an empty warehouse are free')
      expect(
        await acquireStreamLocks(warehouse.projectDb('main'), ['conversations', 'visitors'], now),
      ).toMatchObject({
        stream: 'visitors',
      })
      expect(
        (await acquireStreamLocks(warehouse.projectDb('main'), ['conversations'], now)).held,
      ).toBe(true)
      expect(await both.heartbeat(now)).toBe(true)
      await both.release()
      expect((await acquireStreamLocks(warehouse.projectDb('main'), ['visitors'], now)).held).toBe(
        true,
      )
    })

    test('acquiring a lock does not close the runs of processes that hold other locks', async () => {
      const { warehouse, one } = await openTestWarehouse(db)
      const calls = await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
      if (!calls.held) throw new Error('the lock of an empty warehouse is free')
      await openMirror(warehouse, 'main', { lockToken: calls.token }).startRun('incremental', now)
      await acquireStreamLocks(warehouse.projectDb('main'), ['visitors'], now)
      expect(await one('select outcome from sync_runs')).toEqual({ outcome: null })
      await calls.release()
      await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
      expect(await one('select outcome from sync_runs')).toEqual({ outcome: 'failed' })
    })

    test('the requests of recent runs are counted if they lie within the window', async () => {
      const { warehouse, mirror } = await openTestWarehouse(db)
      const used = async (at: number) =>
        (await readStatus(warehouse.projectDb('main'), at, usualPolicy)).budget.usedInWindow
      expect(await used(now)).toBe(0)
      const run = await mirror.startRun('incremental', now)
      await mirror.heartbeat(run, 400, now + 50_000)
      await mirror.heartbeat(run, 900, now + 100_000)
      expect(await used(now + 110_000)).toBe(500)
      expect(await used(now + 161_000)).toBe(0)
    })

    test('a key is unused until its first use, and again some time after', async () => {
      const { warehouse } = await openTestWarehouse(db)
      const [ours, other] = [createKeyUse(warehouse, 'ours'), createKeyUse(warehouse, 'other')]
      expect(await ours.isUnusedFor(60_000)).toBe(true)
      await ours.recordUse()
      await ours.recordUse()
      expect(await ours.isUnusedFor(60_000)).toBe(false)
      expect(await ours.isUnusedFor(-1)).toBe(true)
      expect(await other.isUnusedFor(60_000)).toBe(true)
    })

    test('runs that changed nothing are deleted after a while, and the state of the streams stays', async () => {
      const { warehouse, mirror, count } = await openTestWarehouse(db)
      const idle = await mirror.startRun('incremental', now)
      await mirror.finishRun(idle, 'complete', [report('calls', { changed: 0 })], now)
      const busy = await mirror.startRun('incremental', now)
      await mirror.finishRun(busy, 'complete', [report('visitors')], now)
      const deletedAt = async (at: number) => (await deleteOldRecords(warehouse.db, at)).runsDeleted
      const last = await mirror.startRun('incremental', now + 1000)
      await mirror.finishRun(last, 'complete', [report('calls', { changed: 0 })], now)
      expect(await deletedAt(now + 7 * 86_400_000)).toBe(0)
      expect(await deletedAt(now + 7 * 86_400_000 + 1000)).toBe(1)
      expect(await count('sync_runs')).toBe(2)
      const status = await readStatus(warehouse.projectDb('main'), now, usualPolicy)
      expect(status.lastRun?.id).toBe(last)
      expect(status.streams.find(({ stream }) => stream === 'calls')?.syncedAt).toBe(
        '2026-06-01T00:00:00Z',
      )
    })

    test('status counts all open gaps, and has the first thousand', async () => {
      const { warehouse } = await openTestWarehouse(db)
      await warehouse.query(`insert into sync_gaps (project_id, id, stream, reason, found_at, seen_at, dedup_key)
        with recursive n (i) as (select 1 union all select i + 1 from n where i < 1500)
        select 'main', 'g' || i, 'calls', 'why', '2026-01-01T00:00:00Z', 1, 'g' || i from n`)
      await warehouse.query("update sync_gaps set resolved_at = found_at where id = 'g7'")
      const { gaps, openGaps } = await readStatus(warehouse.projectDb('main'), now, usualPolicy)
      expect([gaps.length, openGaps]).toEqual([1000, 1499])
    })

    test('status shows live workers, a paused project, and a lost request budget', async () => {
      const { warehouse } = await openTestWarehouse(db)
      await recordWorkerHeartbeat(
        warehouse.db,
        { id: 'w1', queue: 'embedded', configuration: '' },
        now,
      )
      await setPause(warehouse.db, 'main', {
        until: now + 60_000,
        keyFingerprint: 'k',
        why: 'api_key_invalid',
      })
      await recordBudgetLoss(warehouse.db, 'main', 'Redis was emptied', now)
      const status = await readStatus(warehouse.projectDb('main'), now, usualPolicy)
      expect(status.workers).toMatchObject([{ queue: 'embedded', since: '2026-06-01T00:00:00Z' }])
      expect(status.paused).toEqual({ until: '2026-06-01T00:01:00Z', why: 'api_key_invalid' })
      expect(status.budget.lost).toEqual({ at: '2026-06-01T00:00:00Z', why: 'Redis was emptied' })
      await setPause(warehouse.db, 'main', null)
      await removeWorker(warehouse.db, 'w1')
      expect(await readStatus(warehouse.projectDb('main'), now, usualPolicy)).toMatchObject({
        workers: [],
        paused: null,
      })
      expect(
        (await readStatus(warehouse.projectDb('main'), now, usualPolicy)).budget.lost,
      ).not.toBeNull()
    })

    test('a finished run stores what each stream did', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      const run = await mirror.startRun('reconcile', now)
      await mirror.heartbeat(run, 6, now + 1000)
      await mirror.finishRun(
        run,
        'gaps',
        [report('calls'), report('visitors', { skipped: 'visitors:read' })],
        now + 2000,
      )
      const row = await one(
        'select mode, outcome, finished_at, requests, rows_read, rows_changed, streams from sync_runs',
      )
      expect({ ...row, streams: JSON.parse(String(row.streams)).length }).toEqual({
        mode: 'reconcile',
        outcome: 'gaps',
        finished_at: '2026-06-01T00:00:02Z',
        requests: 6,
        rows_read: 20,
        rows_changed: 4,
        streams: 2,
      })
    })

    test('status reports rows, freshness, pending children, gaps, behaviours and the budget', async () => {
      const { warehouse, mirror } = await openTestWarehouse(db)
      const run = await mirror.startRun('incremental', now)
      await mirror.commit(
        commit('conversations', [conversation('c1'), conversation('c2')], { requestedAt: now }),
      )
      await mirror.commit(
        commit('visitors', [visitor('v1')], {
          requestedAt: now,
          observations: [{ name: 'n', value: 'v', evidence: 'e' }],
        }),
      )
      await mirror.commit(
        commit('calls', [call('k1')], {
          requestedAt: now,
          gaps: [{ stream: 'calls', from: 0, to: 0, reason: 'crowded' }],
        }),
      )
      await mirror.markDeleted('conversations', 'c2', now)
      await mirror.heartbeat(run, 30, now + 500)
      const reports = [
        report('calls', { failed: 'HTTP 500' }),
        report('conversations'),
        report('visitors', { skipped: 'visitors:read' }),
      ]
      await mirror.finishRun(run, 'gaps', reports, now + 1000)
      const status = await readStatus(warehouse.projectDb('main'), now + 2000, usualPolicy)
      const of = (name: string) => status.streams.find(({ stream }) => stream === name)
      expect(of('conversations')).toMatchObject({
        rows: 1,
        deleted: 1,
        syncedAt: '2026-06-01T00:00:01Z',
        newest: '2026-01-01T00:00:01Z',
      })
      expect(of('messages')).toMatchObject({ rows: 0, due: 1, syncedAt: null })
      expect(of('calls')).toMatchObject({ rows: 1, syncedAt: null, failed: 'HTTP 500' })
      expect(of('visitors')).toMatchObject({ skipped: 'visitors:read' })
      expect(status).toMatchObject({
        lastRun: { id: run, mode: 'incremental', outcome: 'gaps', requests: 30 },
        running: null,
        gaps: [{ stream: 'calls', from: '1970-01-01T00:00:00Z', reason: 'crowded' }],
        writebacks: {},
        blockedLanes: 0,
        behaviours: [{ name: 'n', value: 'v', evidence: 'e' }],
        budget: { usedInWindow: 30, limit: 600, windowMs: 60_000, forecastMs: 307 },
      })
      await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
      expect(
        (await readStatus(warehouse.projectDb('main'), now, usualPolicy)).running,
      ).toMatchObject({
        since: '2026-06-01T00:00:00Z',
      })
    })

    test('people queue a write-back by plain SQL, and nonsense is refused', async () => {
      const { all, one } = await openTestWarehouse(db)
      const insert = (columns: string, values: string) =>
        all(`insert into writebacks (project_id, ${columns}) values ('main', ${values})`)
      const id = `'7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'`
      const message = `'{"content":"Hi","sender_name":"Ann"}'`
      await insert('operation, conversation_id, payload', `'handled', ${id}, '{"handled":true}'`)
      expect(await one('select status, attempts from writebacks')).toEqual({
        status: 'queued',
        attempts: 0,
      })
      const row = await one('select id, created_at from writebacks')
      expect(String(row.id).length).toBeGreaterThan(30)
      expect(row.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      await insert('operation, conversation_id, payload', `'message', ${id}, ${message}`)
      for (const [columns, values] of [
        ['operation, conversation_id, payload', `'delete', ${id}, '{}'`],
        ['operation, conversation_id, payload', `'message', 'c1', ${message}`],
        ['operation, visitor_id, payload', `'message', ${id}, ${message}`],
        ['operation, conversation_id, payload', `'note', ${id}, '{"content":"n"}'`],
        ['operation, conversation_id, payload', `'message', ${id}, '{"content":"Hi"}'`],
        ['operation, conversation_id, payload', `'message', ${id}, '[]'`],
        ['operation, conversation_id, payload', `'message', ${id}, 'no json'`],
        ['operation, conversation_id, payload, status', `'message', ${id}, ${message}, 'maybe'`],
        [
          'operation, conversation_id, payload, status',
          `'message', ${id}, ${message}, 'succeeded'`,
        ],
      ] as const) {
        await expect(insert(columns, values), `${columns}: ${values}`).rejects.toThrow()
      }
    })
  })
}

test('an ended process is dead, a running one is alive, and one on another machine is unknown', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const own = currentProcess()
  const [machine] = own.process.split('@')
  expect(isProcessAlive(own, own)).toBe(true)
  expect(isProcessAlive({ ...own, process: `${machine}@another start` }, own)).toBe(false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isProcessAlive({ ...own, pid: child.pid! }, own)).toBe(false)
  expect(isProcessAlive({ ...own, host: 'elsewhere' }, own)).toBe(null)
  expect(isProcessAlive({ ...own, process: 'another boot@1' }, own)).toBe(null)
})

/** A process that has ended, while its parent, which lives on, does not ask for that. */
async function startZombie() {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [printed] = await once(parent.stdout, 'data')
  const pid = Number(printed)
  // A shell would ask; what it has become does not.
  while (readFileSync(`/proc/${parent.pid}/comm`, 'utf8') !== 'sleep\n') await setImmediate()
  process.kill(pid, 'SIGKILL')
  while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await setImmediate()
  return pid
}

/** When it started, as `currentProcess` has it. */
const identityOf = (pid: number) => {
  const start = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')[19]
  const [machine] = currentProcess().process.split('@')
  return { ...currentProcess(), pid, process: `${machine}@${start}` }
}

test.runIf(process.platform === 'linux')(
  'a killed process that nobody has reaped is dead: its locks are free, and it is no worker',
  async () => {
    const { warehouse, all } = await openTestWarehouse(databases[0]!)
    const zombie = identityOf(await startZombie())
    expect(isProcessAlive(zombie, currentProcess())).toBe(false)
    await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
    await recordWorkerHeartbeat(warehouse.db, { id: 'w', queue: 'redis', configuration: 'x' }, now)
    expect(await listLiveWorkers(warehouse.db, now)).toHaveLength(1)
    for (const table of ['sync_locks', 'sync_workers'])
      await all(`update ${table} set pid = ${zombie.pid}, process = '${zombie.process}'`)
    expect(await findLockHolder(warehouse.db, 'main', now)).toBeNull()
    expect(await listLiveWorkers(warehouse.db, now)).toEqual([])
    expect((await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)).held).toBe(true)
  },
)

test.runIf(process.platform === 'linux')(
  'a lock whose process lives on this machine, but sends no heartbeats, is free after a minute',
  async () => {
    const { warehouse, all } = await openTestWarehouse(databases[0]!)
    const child = spawn('sleep', ['60'])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    const living = identityOf(child.pid!)
    expect(isProcessAlive(living, currentProcess())).toBe(true)
    await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
    await all(`update sync_locks set pid = ${living.pid}, process = '${living.process}'`)
    const lockAt = (at: number) => acquireStreamLocks(warehouse.projectDb('main'), ['calls'], at)
    expect(await lockAt(now + 59_999)).toMatchObject({ held: false, isAlive: true })
    expect((await lockAt(now + 60_000)).held).toBe(true)
  },
)

test('this process holds a lock as long as it works under it, whatever its heartbeats say', async () => {
  const { warehouse } = await openTestWarehouse(databases[0]!)
  await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now)
  expect(
    (await acquireStreamLocks(warehouse.projectDb('main'), ['calls'], now + 3_600_000)).held,
  ).toBe(false)
})

test('the request log is short, and overestimates rather than underestimates', () => {
  let log: RequestSample[] = [[0, 0]]
  for (let second = 1; second <= 3600; second++) {
    for (const part of [0, 0.3, 0.6])
      log = addSample(log, [(second + part) * 1000, Math.floor((second + part) * 10)])
  }
  expect(log.length).toBeLessThan(1300)
  expect(requestsSince(log, 3_540_000)).toBeGreaterThanOrEqual(606)
  expect(requestsSince(log, 3_540_000)).toBeLessThan(640)
  expect(requestsSince(log, 0)).toBe(log.at(-1)?.[1])
  expect(requestsSince([], 0)).toBe(0)
})
