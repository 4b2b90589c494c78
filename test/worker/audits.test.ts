/** Audits in a worker: by schedule, slice by slice, beside the incremental syncs. */
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { findDifferences, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'

const redis = workerStores.find(({ kind }) => kind === 'redis')!
const lists = { conversations: 25, visitors: 10, calls: 1, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 2], activityPerVisitor: [0, 1] } as const

test('a worker audits by schedule, in slices, and corrects what is wrong beside the syncs', async () => {
  const stores = await redis.make()
  const sandbox = await startSandbox({ seed: 9, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(async () => {
    await sandbox.stop()
    await stores.drop()
  })
  const { queueUrl } = stores
  await syncOnce(stores.databaseUrl, sandbox, { queueUrl })
  const warehouse = await stores.open()
  const [{ conversation_id: conversation } = {}] = await warehouse.query(
    `select conversation_id from messages order by created_at limit 1`,
  )
  await warehouse.query(`delete from messages where conversation_id = '${conversation}'`)
  const schedules = { ...frequentSchedules.schedules, audit: { kind: 'every', ms: 1000 } } as const
  const project = projectConfigOf(sandbox, { schedules, auditSample: 1000 })
  const worker = await startWorkerInProcess(workerConfig(stores, [project]), { sliceMs: 100 })
  const finished = (stream: string) =>
    warehouse.query(`select compared, differing from sync_audits
      where stream = '${stream}' and finished_at is not null order by id limit 1`)
  while ((await finished('conversations')).length === 0 || (await finished('visitors')).length === 0)
    await worker.waitForNext()
  expect(await finished('conversations')).toEqual([{ compared: 25, differing: 1 }])
  expect(await finished('visitors')).toEqual([{ compared: 10, differing: 0 }])
  expect(await findDifferences(warehouse, sandbox, undefined, ['messages'])).toEqual([])
})
