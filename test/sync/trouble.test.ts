/** What a person is told of a run that came to nothing: of the service, of its address, or of neither. */
import { expect, onTestFinished, test } from 'vitest'
import { createBudget } from '../../src/api/budget.ts'
import { createClient } from '../../src/api/client.ts'
import { createMemoryStore } from '../../src/api/state-store.ts'
import { stoppedError } from '../../src/compose/service.ts'
import { createLog } from '../../src/log.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { sync } from '../../src/sync/sync.ts'
import { unlimited } from '../api/service.ts'
import { projectOf, syncOnce } from '../mirror/mirroring.ts'
import { databases } from '../support/databases.ts'
import { freePort } from '../support/server.ts'

const [sqlite] = databases
const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

const sandboxHere = async () => {
  const sandbox = await startSandbox({
    size: { conversations: 450, visitors: 1, calls: 0 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(sandbox.stop)
  return sandbox
}
const placeHere = async () => {
  const place = await sqlite!.make()
  onTestFinished(place.drop)
  return place
}

test('a 502 after good answers ends its stream, and says nothing against the address', async () => {
  const sandbox = await sandboxHere()
  const warehouse = await (await placeHere()).open()
  sandbox.fail({ kind: 'html-502', operation: 'listConversations', skip: 1, times: 1000 })
  const signal = new AbortController().signal
  const client = createClient({
    baseUrl: new URL(sandbox.baseUrl),
    key: sandbox.key,
    budget: createBudget(createMemoryStore(unlimited)),
    signal,
    retries: { attempts: 2, baseMs: 1, capMs: 1, patienceMs: 1000 },
  })
  onTestFinished(client.close)
  const { stopped, outcome, reports } = await sync({
    project: sandbox.projectId,
    mode: 'incremental',
    streams: new Set(['conversations']),
    mirrored: new Set(['conversations']),
    startDate: null,
    timeZone: 'UTC',
    lookBack: 600,
    get: client.get,
    mirror: warehouse.mirror(sandbox.projectId),
    requests: client.requests,
    now: Date.now,
    signal,
    onProgress: () => {},
    log,
  })
  expect([stopped, outcome]).toEqual([null, 'failed'])
  expect(reports).toMatchObject([{ stream: 'conversations', failed: expect.stringContaining('502') }])
  const failure = { kind: 'transient', why: '502', left: true, status: 502, requestId: null } as const
  const project = projectOf(sandbox)
  for (const told of [stoppedError(project, failure), stoppedError(project, { ...failure, status: null }, true)]) {
    expect(told.what).toMatch(/^the service fails at http/)
    expect(told.next).not.toContain('DESKMIRROR_BASE_URL')
  }
})

test('a Redis that is away is called by its name, and not the service', async () => {
  const sandbox = await sandboxHere()
  const { url } = await placeHere()
  const queueUrl = `redis://127.0.0.1:${await freePort()}`
  await expect(syncOnce(url!, sandbox, { queueUrl, streams: ['availability'] })).rejects.toMatchObject({
    what: 'the request budget cannot be reached, so nothing is sent to the service',
    why: expect.stringContaining('ECONNREFUSED'),
    next: expect.stringContaining('DESKMIRROR_QUEUE_URL'),
    exitCode: 1,
  })
  expect(sandbox.log()).toEqual([])
})
