/** Audits in a worker: by schedule, each in one job, beside the incremental syncs. */
import { expect, onTestFinished, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { findDifferences, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'

const redis = workerStores.find(({ kind }) => kind === 'redis')!
const lists = { conversations: 25, visitors: 10, calls: 1, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 2], activityPerVisitor: [0, 1] } as const

async function startTest() {
  const stores = await redis.make()
  const sandbox = await startSandbox({ seed: 9, size, switches: { 'rate.kind': 'off' } })
  onTestFinished(async () => {
    await sandbox.stop()
    await stores.drop()
  })
  await syncOnce(stores.databaseUrl, sandbox, { queueUrl: stores.queueUrl })
  return { stores, sandbox, warehouse: await stores.open() }
}

const auditedEverySecond = (sandbox: Sandbox) => {
  const schedules = { ...frequentSchedules.schedules, audit: { kind: 'every', ms: 1000 } } as const
  return projectConfigOf(sandbox, { schedules, auditSample: 1000 })
}

test('a worker audits by schedule, and corrects what is wrong beside the syncs', async () => {
  const { stores, sandbox, warehouse } = await startTest()
  const [{ conversation_id: conversation } = {}] = await warehouse.query(
    `select conversation_id from messages order by created_at limit 1`,
  )
  await warehouse.query(`delete from messages where conversation_id = '${conversation}'`)
  const worker = await startWorkerInProcess(workerConfig(stores, [auditedEverySecond(sandbox)]))
  const finished = (stream: string) =>
    warehouse.query(`select compared, differing from sync_audits
      where stream = '${stream}' order by id limit 1`)
  while (
    (await finished('conversations')).length === 0 ||
    (await finished('visitors')).length === 0
  )
    await worker.waitForNext()
  expect(await finished('conversations')).toEqual([{ compared: 25, differing: 1 }])
  expect(await finished('visitors')).toEqual([{ compared: 10, differing: 0 }])
  expect(await findDifferences(warehouse, sandbox, undefined, ['messages'])).toEqual([])
})

test('the sync of an audit releases its streams after each time slice, and is continued to its end', async () => {
  const { stores, sandbox, warehouse } = await startTest()
  const project = auditedEverySecond(sandbox)
  const onlyAudits = {
    ...project,
    schedules: { ...project.schedules, incremental: { kind: 'off' } },
  } as const
  for (const { id } of sandbox.truth('conversations')) sandbox.mutate.visitorWrites(id!)
  sandbox.setSwitches({ 'latency.after': 200 })
  const worker = await startWorkerInProcess(workerConfig(stores, [onlyAudits]), { sliceMs: 1000 })
  await worker.waitFor(({ event, stream }) => event === 'audit.ended' && stream === 'conversations')
  const [audit] = await warehouse.query(
    `select compared, differing from sync_audits where stream = 'conversations'`,
  )
  expect(audit).toEqual({ compared: 25, differing: 0 })
  expect(worker.log.filter(({ event }) => event === 'job.failed')).toEqual([])
  const runs = await warehouse.query('select distinct outcome from sync_runs order by outcome')
  expect(runs).toEqual([{ outcome: 'complete' }, { outcome: 'interrupted' }])
})

test('a worker that stops interrupts an audit: the log says so, and nothing is stored', async () => {
  const { stores, sandbox, warehouse } = await startTest()
  sandbox.setSwitches({ 'latency.after': 500 })
  const worker = await startWorkerInProcess(workerConfig(stores, [auditedEverySecond(sandbox)]))
  await worker.waitFor(
    ({ event, path }) => event === 'request.completed' && /conversations\/[^/]+$/.test(`${path}`),
  )
  await worker.stop()
  expect(worker.log).toContainEqual(
    expect.objectContaining({ event: 'audit.interrupted', stream: 'conversations' }),
  )
  expect(await warehouse.query('select * from sync_audits')).toEqual([])
})
