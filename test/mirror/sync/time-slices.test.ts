/**
 * A worker reads in time slices. However short they are, each leaves less to the next one, so that
 * they come to an end.
 */
import { expect, test } from 'vitest'
import type { Warehouse } from '../../../src/app/open.ts'
import type { SyncMode } from '../../../src/mirror/core/reports.ts'
import { daySeconds, type EpochSeconds } from '../../../src/values/time.ts'
import {
  findFaults,
  openCopy,
  runOnce,
  type Scene,
  type TestedService,
  withService,
} from './interrupted-runs.ts'

/** Three pages each. */
const services: readonly TestedService[] = [
  { what: 'visitors, oldest first', list: 'visitors', switches: {} },
  { what: 'visitors, newest first', list: 'visitors', switches: { 'visitors.order': 'newest' } },
  {
    what: 'visitors, newest first with `since`',
    list: 'visitors',
    switches: { 'visitors.order': 'newest-bounded' },
  },
  { what: 'calls, oldest first', list: 'calls', switches: { 'calls.order': 'oldest' } },
  { what: 'calls, newest first', list: 'calls', switches: { 'calls.order': 'newest' } },
  {
    what: 'calls of 90 days at once, without a start date',
    list: 'calls',
    switches: { 'calls.window': 90 },
  },
  {
    what: 'conversations that each sync lists again, as they may be in order of their creation',
    list: 'conversations',
    rows: 180,
    switches: { 'conversations.since': 'createdAt', 'pages.size': 60 },
  },
]

/** Each slice is over at its first answer. */
async function readInSlices(
  scene: Scene,
  warehouse: Warehouse,
  mode: SyncMode,
  startDate?: EpochSeconds,
) {
  for (let slices = 1; slices <= 16; slices += 1) {
    const { outcome } = await runOnce(scene, warehouse, mode, () => 'end slice', startDate)
    if (outcome !== 'interrupted')
      return expect(await findFaults(scene, warehouse, outcome)).toEqual([])
  }
  throw new Error('the slices do not end')
}

const withWarehouse = (
  service: TestedService,
  work: (scene: Scene, warehouse: Warehouse) => Promise<void>,
) =>
  withService(service, async (scene) => {
    const { warehouse } = await openCopy(scene)
    await work(scene, warehouse)
    await warehouse.close()
  })

for (const service of services) {
  test(`${service.what}: slices that are over at their first answer`, () =>
    withWarehouse(service, async (scene, warehouse) => {
      await readInSlices(scene, warehouse, 'incremental')
      await readInSlices(scene, warehouse, 'incremental')
      await readInSlices(scene, warehouse, 'reconcile')
    }))
}

const calls: TestedService = { what: 'calls', list: 'calls', switches: {} }

test('calls before a start date that is moved back are read in slices, too', () =>
  withWarehouse(calls, async (scene, warehouse) => {
    const now = Math.floor(scene.sandbox.now() / 1000)
    await runOnce(scene, warehouse, 'incremental', undefined, now - daySeconds)
    await readInSlices(scene, warehouse, 'incremental', now - 60 * daySeconds)
  }))

for (const mode of ['incremental', 'reconcile'] as const) {
  test(`a start date that is moved back before a first ${mode} sync has reached its end`, () =>
    withWarehouse(calls, async (scene, warehouse) => {
      const now = Math.floor(scene.sandbox.now() / 1000)
      await runOnce(scene, warehouse, mode, () => 'end slice', now - 12 * daySeconds)
      await readInSlices(scene, warehouse, mode, now - 60 * daySeconds)
    }))
}
