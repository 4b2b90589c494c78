/**
 * A worker goes on while the service refuses one conversation, and tries a denied key at once when
 * it is started again.
 */
import { expect, onTestFinished, test } from 'vitest'
import { setPause } from '../../src/maintenance/sql/projects.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { endPauses, pauseProject } from '../../src/worker/resources.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { startWorkerInProcess, workerConfig } from './in-process-worker.ts'

const off = { kind: 'off' } as const
const noSchedules = {
  schedules: { incremental: off, reconcile: off, analytics: off, availability: off, audit: off },
}

test('a conversation that is refused pauses no project, and a pause ends with a restart', async () => {
  const stores = await workerStores[0]!.make()
  onTestFinished(stores.drop)
  const sandbox = await startSandbox({
    size: { conversations: 6, visitors: 2, calls: 0 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(sandbox.stop)
  const [refused, other] = [...sandbox.truth('conversations')].map(({ id }) => id!) as [
    string,
    string,
  ]
  sandbox.setSwitches({ 'refused.paths': refused, 'refused.answer': 'wrong-project' })
  const project = projectConfigOf(sandbox, noSchedules)
  const warehouse = await stores.open()
  const log = { error: () => {} } as never
  const denied = {
    kind: 'denied',
    status: 401,
    code: 'x',
    scope: null,
    why: 'no',
    requestId: null,
  } as const
  expect(await pauseProject({ warehouse, log }, project, denied)).toMatchObject({
    kind: 'blocked',
    retryMs: null,
  })
  for (const id of [refused, other])
    await warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
      values ('${sandbox.projectId}', 'handled', '${id}', '{"handled":true}')`)
  const worker = await startWorkerInProcess(workerConfig(stores, [project]))
  const statuses = async () =>
    (await warehouse.query('select status from writebacks order by seq')).map(
      ({ status }) => status,
    )
  await expect.poll(statuses, { interval: 200 }).toEqual(['failed', 'succeeded'])
  expect(worker.log.filter(({ event }) => event === 'project.paused')).toEqual([])
  await endPauses(warehouse, [project])
})

test('a worker that could not start leaves nothing locked', async () => {
  const stores = await workerStores[0]!.make()
  onTestFinished(stores.drop)
  const sandbox = await startSandbox({ size: { conversations: 1, visitors: 1, calls: 0 } })
  onTestFinished(sandbox.stop)
  const config = workerConfig(stores, [projectConfigOf(sandbox, noSchedules)])
  const warehouse = await stores.open()
  const pause = { until: Date.now(), keyFingerprint: 'of an earlier key', why: 'denied' }
  await setPause(warehouse.db, sandbox.projectId, pause)
  await warehouse.query(`create trigger fails before update on sync_projects
    begin select raise(abort, 'the pause cannot be ended'); end`)
  await expect(startWorkerInProcess(config)).rejects.toThrow(/the pause cannot be ended/)
  await warehouse.query('drop trigger fails')
  await startWorkerInProcess(config)
})
