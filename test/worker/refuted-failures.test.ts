/**
 * A failure that a later success of any worker has refuted is gone: in this worker, in the others,
 * and in the warehouse.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import { checkReadiness } from '../../jobs/worker-http.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { createLog } from '../../src/log.ts'
import type { JobIdentity } from '../../src/maintenance/core/job-failure.ts'
import { listFailures } from '../../src/maintenance/sql/workers.ts'
import { WarehouseError } from '../../src/warehouse/explain-error.ts'
import { createJobFailures } from '../../src/worker/job-failures.ts'
import { databases } from '../support/databases.ts'

const project = { name: 'shop', projectId: 'id of shop' }
const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })
const laneJob = (lane: string): JobIdentity => ({
  job: 'writebacks',
  project,
  key: lane,
  stream: null,
})
const syncJob: JobIdentity = {
  job: 'sync',
  project,
  key: 'calls/incremental',
  stream: 'calls',
  mode: 'incremental',
}
const warehouseError = (kind: WarehouseError['kind']) =>
  new WarehouseError('cannot use it', { why: 'gone', next: '', exitCode: 1 }, kind, '')

describe('workers that share a warehouse', () => {
  const open = async () => {
    const database = await databases[0]!.make()
    onTestFinished(database.drop)
    return database.open()
  }
  const workerOf = (warehouse: Warehouse, clock: { now: number }) =>
    createJobFailures({
      db: warehouse.db,
      projects: () => [project],
      log,
      metrics: { countJobFailure: () => {} },
      now: () => clock.now,
    })
  const isReady = async (warehouse: Warehouse, failures: ReturnType<typeof workerOf>) => {
    const queue = { ping: async () => {} }
    return (await checkReadiness(warehouse, queue, failures, new AbortController().signal)).every(
      ({ ok }) => ok,
    )
  }

  test.each(['unusable', 'unavailable'] as const)(
    'a job that one failed (%s) and another did',
    async (kind) => {
      const clock = { now: Date.now() }
      const warehouse = await open()
      const [first, second] = [workerOf(warehouse, clock), workerOf(warehouse, clock)]
      for (const identity of [laneJob('conversation/1'), syncJob])
        await first.recordFailure(identity, warehouseError(kind))
      clock.now += 1000
      for (const identity of [laneJob('conversation/1'), syncJob])
        await second.recordSuccess(identity)
      for (const worker of [first, second, first]) await worker.refresh()
      expect(await listFailures(warehouse.db)).toEqual([])
      expect([first.list(), second.list()]).toEqual([[], []])
      expect(await isReady(warehouse, first)).toBe(true)
    },
  )

  test('a warehouse that answers a ping is ready, whatever failed while it was away', async () => {
    const clock = { now: Date.now() }
    const warehouse = await open()
    const worker = workerOf(warehouse, clock)
    for (let nth = 0; nth < 32; nth += 1)
      await worker.recordFailure(laneJob(`conversation/${nth}`), warehouseError('unavailable'))
    expect(await isReady(warehouse, worker)).toBe(true)
    clock.now += 1
    await worker.refresh()
    expect([worker.list(), await listFailures(warehouse.db)]).toEqual([[], []])
  })

  test('a failing table keeps it from being ready only as long as jobs fail', async () => {
    const clock = { now: Date.now() }
    const warehouse = await open()
    const worker = workerOf(warehouse, clock)
    await worker.recordFailure(laneJob('conversation/1'), warehouseError('unusable'))
    await worker.refresh()
    expect(await isReady(warehouse, worker)).toBe(false)
    // The lane has nothing to send any more, so no job of it succeeds.
    clock.now += 3 * 60_000
    await worker.refresh()
    expect(await isReady(warehouse, worker)).toBe(true)
    expect(await listFailures(warehouse.db)).toEqual([])
  })

  test('a failure for another reason stays until its job succeeds', async () => {
    const clock = { now: Date.now() }
    const warehouse = await open()
    const [first, second] = [workerOf(warehouse, clock), workerOf(warehouse, clock)]
    await first.recordSuccess(syncJob)
    clock.now += 1000
    await second.recordFailure(syncJob, new Error('a bug'))
    for (const worker of [first, second, first]) await worker.refresh()
    expect(first.list()).toMatchObject([{ failure: { reason: 'a bug' } }])
    expect(second.list()).toHaveLength(1)
  })
})
