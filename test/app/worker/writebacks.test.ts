/** A worker carries write-backs as they come, on each kind of queue, beside its fellows and a `push`. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { pushProject } from '../../../src/app/push.ts'
import { createLog } from '../../../src/log.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { projectConfigOf } from '../../sync/sync-sandbox.ts'
import { type WorkerStores, workerStores } from './fixtures.ts'
import { workerConfig, startWorkerInProcess } from './in-process-worker.ts'

const off = { kind: 'off' } as const
const quiet = { schedules: { incremental: off, reconcile: off, analytics: off, availability: off } }
const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

for (const { kind, make } of workerStores) {
  describe(`a worker whose jobs are kept in: ${kind}`, () => {
    let office: WorkerStores
    let warehouse: Warehouse
    let sandbox: Sandbox
    beforeEach(async ({ onTestFinished: finished }) => {
      office = await make()
      finished(office.drop)
      warehouse = await office.open()
      sandbox = await startSandbox({
        size: { conversations: 30, visitors: 5, calls: 0 },
        switches: { 'rate.kind': 'off' },
      })
      finished(sandbox.stop)
    })
    const conversations = () => [...sandbox.truth('conversations')].map(({ id }) => id!)
    const reply = (id: string, text: string) =>
      warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
        values ('${sandbox.projectId}', 'message', '${id}', '{"content":"${text}","sender_name":"Ann"}')`)
    const isQuiet = async () => {
      const rows = await warehouse.query(`select id from writebacks where status <> 'succeeded'`)
      expect(rows).toEqual([])
    }

    test('sends what is inserted by plain SQL while it runs, in order, and says what became of it', async () => {
      const project = projectConfigOf(sandbox, quiet)
      const worker = await startWorkerInProcess(workerConfig(office, [project]))
      const [id] = conversations() as [string]
      await warehouse.query(`insert into writebacks (operation, conversation_id, payload)
        values ('message', '${id}', '{"content":"Solved.","sender_name":"Ann"}'), ('handled', '${id}', '{"handled":true}')`)
      await worker.waitFor(({ event, operation }) => event === 'writeback.settled' && operation === 'handled')
      await isQuiet()
      expect(sandbox.ledger().map(({ operation }) => operation)).toEqual(['sendMessage', 'setHandled'])
      const [row] = await warehouse.query(`select handled_at from conversations where id = '${id}'`)
      expect(row!.handled_at).not.toBeNull()
    })

    test('shares the lanes with another one and with a push, and each write-back goes out once', async () => {
      const project = projectConfigOf(sandbox, { ...quiet, verifyAfterMs: 300 })
      const config = workerConfig(office, [project])
      const workers = [await startWorkerInProcess(config)]
      // Only one process may have the files of an embedded queue.
      if (kind !== 'embedded') workers.push(await startWorkerInProcess(config))
      sandbox.setSwitches({ 'latency.after': 5, 'fault.rate': 0.1, 'fault.kinds': 'reset-before,reset-after' })
      for (const id of conversations()) for (const n of [1, 2, 3]) await reply(id, `${id} ${n}`)
      const options = { onProgress: () => {}, onBudget: () => {}, log, despiteFailures: true }
      await pushProject(config, project, { ...options, signal: new AbortController().signal })
      await vi.waitFor(isQuiet, { timeout: 40_000, interval: 200 })
      const sent = sandbox.ledger().map(({ body }) => (body as { content: string }).content)
      expect(sent.toSorted()).toEqual(
        conversations()
          .flatMap((id) => [1, 2, 3].map((n) => `${id} ${n}`))
          .toSorted(),
      )
      for (const id of conversations())
        expect(sent.filter((text) => text.startsWith(id))).toEqual([1, 2, 3].map((n) => `${id} ${n}`))
    })
  })
}

test('writes nothing where it must not, tells of rows that name no project, and goes on reading', async () => {
  const office = await workerStores[0]!.make()
  onTestFinished(office.drop)
  const sandbox = await startSandbox({
    size: { conversations: 3, visitors: 2, calls: 0 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(sandbox.stop)
  const project = projectConfigOf(sandbox, {
    readOnly: true,
    schedules: { ...quiet.schedules, incremental: { kind: 'every', ms: 1000 } },
  })
  const warehouse = await office.open()
  const [first] = [...sandbox.truth('conversations')]
  const id = first!.id
  await warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
    values ('${sandbox.projectId}', 'handled', '${id}', '{"handled":true}'), ('', 'handled', '${id}', '{"handled":true}')`)
  const other = { ...project, ...quiet, name: 'other', projectId: '00000000-0000-4000-8000-000000000000' }
  const worker = await startWorkerInProcess(workerConfig(office, [project, other]))
  for (const stream of ['conversations', 'visitors', 'conversations'])
    await worker.waitFor((line) => line.event === 'sync.ended' && line.stream === stream)
  const told = worker.log.filter(({ event }) => event === 'writebacks.nameless')
  expect(told).toMatchObject([{ level: 'warn', why: expect.stringContaining('1 row has no project') }])
  expect(await warehouse.query('select distinct status from writebacks')).toEqual([{ status: 'queued' }])
  expect(sandbox.ledger()).toEqual([])
})
