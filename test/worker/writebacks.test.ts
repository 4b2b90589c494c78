/**
 * A worker sends write-backs as they arrive, on each kind of queue, beside other workers and a
 * `push`.
 */

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { decideBatch } from '../../src/app/batches.ts'
import { pushProject } from '../../src/app/push.ts'
import { createLog } from '../../src/log.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { sampledTest } from '../support/sampled.ts'
import { waitFor } from '../support/wait.ts'
import { useWorkerStores, workerStores } from './fixtures.ts'
import { startWorkerInProcess, workerConfig } from './in-process-worker.ts'

const off = { kind: 'off' } as const
const noSchedules = {
  schedules: { incremental: off, reconcile: off, analytics: off, availability: off, audit: off },
}
const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

for (const { kind, make } of workerStores) {
  describe(`a worker whose queue is in: ${kind}`, () => {
    const stores = useWorkerStores(make)
    let sandbox: Sandbox
    beforeEach(async ({ onTestFinished: finished }) => {
      const size = { conversations: 6, visitors: 2, calls: 0 }
      sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
      finished(sandbox.stop)
    })
    const conversations = () => [...sandbox.truth('conversations')].map(({ id }) => id!)
    const reply = (id: string, text: string) =>
      stores.warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
        values ('${sandbox.projectId}', 'message', '${id}', '{"content":"${text}","sender_name":"Ann"}')`)
    const expectAllSent = async () => {
      const rows = await stores.warehouse.query(
        `select id from writebacks where status <> 'succeeded'`,
      )
      expect(rows).toEqual([])
    }

    sampledTest(
      kind === 'embedded',
      'sends rows inserted by plain SQL while it runs, in order, and logs their outcome',
      async () => {
        const project = projectConfigOf(sandbox, noSchedules)
        const worker = await startWorkerInProcess(workerConfig(stores, [project]))
        const [id] = conversations() as [string]
        await stores.warehouse.query(`insert into writebacks (operation, conversation_id, payload)
        values ('message', '${id}', '{"content":"Solved.","sender_name":"Ann"}'), ('handled', '${id}', '{"handled":true}')`)
        await worker.waitFor(
          ({ event, operation }) => event === 'writeback.settled' && operation === 'handled',
        )
        await expectAllSent()
        expect(sandbox.ledger().map(({ operation }) => operation)).toEqual([
          'sendMessage',
          'setHandled',
        ])
        const [row] = await stores.warehouse.query(
          `select handled_at from conversations where id = '${id}'`,
        )
        expect(row!.handled_at).not.toBeNull()
      },
    )

    sampledTest(
      kind !== 'embedded',
      'shares the lanes with another worker and with a push, and each write-back is sent once',
      async () => {
        const project = projectConfigOf(sandbox, { ...noSchedules, verifyAfterMs: 300 })
        const config = workerConfig(stores, [project])
        const workers = [await startWorkerInProcess(config)]
        // A worker with the embedded queue is alone.
        if (kind === 'redis') workers.push(await startWorkerInProcess(config))
        sandbox.setSwitches({
          'latency.after': 5,
          'fault.rate': 0.1,
          'fault.kinds': 'reset-before,reset-after',
        })
        for (const id of conversations()) for (const n of [1, 2, 3]) await reply(id, `${id} ${n}`)
        const options = { onProgress: () => {}, onBudget: () => {}, log, despiteFailures: true }
        await pushProject(config, project, { ...options, signal: new AbortController().signal })
        await waitFor(expectAllSent)
        const sent = sandbox.ledger().map(({ body }) => (body as { content: string }).content)
        expect(sent.toSorted()).toEqual(
          conversations()
            .flatMap((id) => [1, 2, 3].map((n) => `${id} ${n}`))
            .toSorted(),
        )
        for (const id of conversations())
          expect(sent.filter((text) => text.startsWith(id))).toEqual(
            [1, 2, 3].map((n) => `${id} ${n}`),
          )
      },
    )
  })
}

test('sends nothing where it must not, warns about rows without a project, and keeps reading', async () => {
  const stores = await workerStores[0]!.make()
  onTestFinished(stores.drop)
  const sandbox = await startSandbox({
    size: { conversations: 3, visitors: 2, calls: 0 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(sandbox.stop)
  const project = projectConfigOf(sandbox, {
    readOnly: true,
    schedules: { ...noSchedules.schedules, incremental: { kind: 'every', ms: 1000 } },
  })
  const warehouse = await stores.open()
  const [first] = [...sandbox.truth('conversations')]
  const id = first!.id
  await warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
    values ('${sandbox.projectId}', 'handled', '${id}', '{"handled":true}'), ('', 'handled', '${id}', '{"handled":true}')`)
  const other = {
    ...project,
    ...noSchedules,
    name: 'other',
    projectId: '00000000-0000-4000-8000-000000000000',
  }
  const worker = await startWorkerInProcess(workerConfig(stores, [project, other]))
  for (const stream of ['conversations', 'visitors', 'conversations'])
    await worker.waitFor((line) => line.event === 'sync.ended' && line.stream === stream)
  const warnings = worker.log.filter(({ event }) => event === 'writebacks.without_project')
  expect(warnings).toMatchObject([
    { level: 'warn', why: expect.stringContaining('1 row has no project') },
  ])
  expect(await warehouse.query('select distinct status from writebacks')).toEqual([
    { status: 'queued' },
  ])
  expect(sandbox.ledger()).toEqual([])
})

test('what goes wrong in one project keeps no other one from sending', async () => {
  const stores = await workerStores[0]!.make()
  onTestFinished(stores.drop)
  const size = { conversations: 1, visitors: 1, calls: 0 }
  const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  const project = projectConfigOf(sandbox, noSchedules)
  const failing = { ...project, name: 'failing', projectId: '00000000-0000-4000-8000-000000000000' }
  const closed = { ...failing, projectId: '00000000-0000-4000-8000-000000000001', readOnly: true }
  const warehouse = await stores.open()
  const [conversation] = [...sandbox.truth('conversations')]
  for (const { projectId } of [failing, closed, project])
    await warehouse.query(`insert into writebacks (project_id, operation, conversation_id, batch_id, payload)
      values ('${projectId}', 'handled', '${conversation!.id}', 'b', '{"handled":true}')`)
  await warehouse.query(
    `update writeback_batches set done_to = 0 where project_id = '${failing.projectId}'`,
  )
  await warehouse.query(
    `update writebacks set status = 'sending' where project_id = '${closed.projectId}'`,
  )
  await warehouse.query(`create trigger stays before update on writebacks
    when new.project_id = '${closed.projectId}' begin select raise(abort, 'stays'); end`)
  await warehouse.query(`create trigger fails before update on writeback_batches
    when new.project_id = '${failing.projectId}' begin select raise(abort, 'fails'); end`)
  const worker = await startWorkerInProcess(workerConfig(stores, [closed, failing, project]))
  await worker.waitFor(({ event }) => event === 'writeback.settled')
  expect(sandbox.ledger().map(({ operation }) => operation)).toEqual(['setHandled'])
  await worker.waitFor(({ why }) => String(why).includes('stays'))
})

test('stops a batch at once, goes on with it, and says when it was finished', async () => {
  const stores = await workerStores[0]!.make()
  onTestFinished(stores.drop)
  const size = { conversations: 12, visitors: 2, calls: 0 }
  const sandbox = await startSandbox({
    size,
    switches: { 'rate.kind': 'off', 'latency.after': 30 },
  })
  onTestFinished(sandbox.stop)
  const project = projectConfigOf(sandbox, noSchedules)
  const config = workerConfig(stores, [project])
  const warehouse = await stores.open()
  const admin = createOutbox(warehouse.projectDb(sandbox.projectId))
  const requests = [...sandbox.truth('conversations')].map(({ id }) => {
    const payload = { content: 'We are on it.', sender_name: 'Ann' }
    return {
      operation: 'message',
      target: id!,
      payload,
      ref: null,
      expect: null,
      expiresAt: null,
    } as const
  })
  await admin.enqueue([requests], {
    status: 'queued',
    batchId: 'replies',
    createdBy: 'ann',
    expiresAt: null,
  })
  const worker = await startWorkerInProcess(config)
  await worker.waitFor(({ event }) => event === 'writeback.settled')
  const stopped = await decideBatch(config, project, 'stopped', { batch: 'replies', by: 'bea' })
  expect(stopped).toMatchObject({ moved: expect.toSatisfy((moved: number) => moved > 0) })
  const isQuiet = async () =>
    expect((await admin.findBatch('replies'))?.counts.sending ?? 0).toBe(0)
  await waitFor(isQuiet)
  const sent = sandbox.ledger().length
  expect((await admin.findBatch('replies'))?.counts).toEqual({
    succeeded: sent,
    draft: requests.length - sent,
  })
  await decideBatch(config, project, 'resumed', { batch: 'replies', by: 'bea' })
  const finishedAt = () => warehouse.query('select finished_at from writeback_batches')
  const isFinished = async () =>
    expect(await finishedAt()).toEqual([{ finished_at: expect.any(String) }])
  await waitFor(isFinished)
  expect(sandbox.ledger()).toHaveLength(requests.length)
})
