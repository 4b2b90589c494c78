/** A queue that someone has paused in its store: nothing fails, and nothing is done. */

import { expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import { readInstallationId } from '../../src/maintenance/sql/workers.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { captureLog } from '../http/test-server.ts'
import type { BullBackend } from '../jobs/queue-fixtures.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { useWorkerStores, workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import type { LogLine } from './log-reader.ts'

const [, redis] = workerStores
const stores = useWorkerStores(redis!.make)

test('is in the log, the metrics, status and the console until it is resumed', async () => {
  const sandbox = await startSandbox({ size: { conversations: 1, visitors: 1, calls: 0, days: 1 } })
  onTestFinished(() => sandbox.stop())
  const project = projectConfigOf(sandbox, frequentSchedules)
  const config = workerConfig(stores, [project], { http: { host: '127.0.0.1', port: 0 } })
  const worker = await startWorkerInProcess(config)
  const installation = await readInstallationId(stores.warehouse.db)
  const backend = (await openBackend(stores.queueUrl, {
    log: captureLog().log,
    installation,
  })) as BullBackend
  onTestFinished(backend.close)
  const board = backend.queue('writebacks')
  const metrics = async () => (await fetch(`${worker.address}/metrics`)).text()
  expect(await metrics()).not.toContain('deskmirror_queue_paused{')

  await board.pause()
  const isOfQueue = ({ job, subject }: LogLine) => job === 'queue' && subject === 'writebacks'
  expect(
    await worker.waitFor((line) => line.event === 'job.failed' && isOfQueue(line)),
  ).toMatchObject({
    level: 'error',
  })
  expect(await metrics()).toContain('deskmirror_queue_paused{queue="writebacks"} 1')
  const failures = async () =>
    (await readStatus(stores.warehouse.projectDb(sandbox.projectId), Date.now(), project)).failures
  // It is logged before it is stored.
  await expect.poll(failures).toMatchObject([
    {
      job: 'queue',
      subject: 'writebacks',
      reason: expect.stringContaining(`hdel deskmirror:writebacks.${installation}:meta paused`),
    },
  ])

  await board.resume()
  await worker.waitFor((line) => line.event === 'job.recovered' && isOfQueue(line))
  expect(await metrics()).not.toContain('deskmirror_queue_paused{')
})
