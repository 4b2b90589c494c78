/** The error text of a failed run: about the service, its address, or neither. */

import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { fatalRunError } from '../../../src/app/service.ts'
import { createLog } from '../../../src/log.ts'
import { runSync } from '../../../src/mirror/sync/sync.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { createClient } from '../../../src/service/client.ts'
import { createMemoryStore } from '../../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../../src/service/rate-limit/request-budget.ts'
import { unlimitedPolicy } from '../../service/test-service.ts'
import { databases } from '../../support/databases.ts'
import { freePort } from '../../support/private-server.ts'
import { keepAll } from '../../support/stored-items.ts'
import { projectConfigOf, syncOnce } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const [sqlite] = databases
const log = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

const startTestSandbox = async () => {
  const size = { conversations: 450, visitors: 1, calls: 0 }
  const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
  onTestFinished(sandbox.stop)
  return sandbox
}
const makeTestDatabase = async () => {
  const database = await sqlite!.makeForSandbox()
  onTestFinished(database.drop)
  return database
}

test('a 502 after good answers ends its stream, and the error does not blame the address', async () => {
  const sandbox = await startTestSandbox()
  const warehouse = await (await makeTestDatabase()).open()
  sandbox.scriptFault({ kind: 'html-502', operation: 'listConversations', skip: 1, times: 1000 })
  const signal = new AbortController().signal
  const client = createClient({
    baseUrl: new URL(sandbox.baseUrl),
    key: sandbox.key,
    budget: createRequestBudget(createMemoryStore(unlimitedPolicy)),
    signal,
    retries: { attempts: 2, baseMs: 1, capMs: 1, maxRequestedWaitMs: 1000 },
  })
  onTestFinished(client.close)
  const { fatalFailure, outcome, reports } = await runSync({
    projectId: sandbox.projectId,
    mode: 'incremental',
    streams: new Set(['conversations']),
    mirrored: new Set(['conversations']),
    startDate: null,
    timeZone: 'UTC',
    lookBackSeconds: 600,
    get: keepAll(client.get),
    mirror: openMirror(warehouse, sandbox.projectId),
    requestCount: client.requestCount,
    now: Date.now,
    signal,
    onProgress: () => {},
    log,
  })
  expect([fatalFailure, outcome]).toEqual([null, 'failed'])
  expect(reports).toMatchObject([
    { stream: 'conversations', failed: expect.stringContaining('502') },
  ])
  const failure = {
    kind: 'transient',
    why: '502',
    mayHaveBeenSent: true,
    status: 502,
    requestId: null,
  } as const
  const project = projectConfigOf(sandbox)
  for (const error of [
    fatalRunError(project, failure),
    fatalRunError(project, { ...failure, status: null }, true),
  ]) {
    expect(error.what).toMatch(/^the service fails at http/)
    expect(error.next).not.toContain('DESKMIRROR_BASE_URL')
  }
})

test('where the key is denied, the last complete read stays when it was, and the stream says why', async () => {
  await withSandbox({ size: { conversations: 3 } }, async ({ sandbox, warehouse, sync }) => {
    await sync({ streams: ['conversations'] })
    await sql`update sync_streams set synced_at = '2026-01-01T00:00:00Z'`.execute(warehouse.db)
    sandbox.revokeKey(sandbox.key)
    await expect(sync({ streams: ['conversations'] })).rejects.toMatchObject({ exitCode: 2 })
    const { rows } = await sql`select synced_at, failed from sync_streams`.execute(warehouse.db)
    expect(rows).toEqual([
      { synced_at: '2026-01-01T00:00:00Z', failed: expect.stringContaining('api_key_invalid') },
    ])
  })
})

test('if Redis is unreachable, the error names Redis and not the service', async () => {
  const sandbox = await startTestSandbox()
  const { url } = await makeTestDatabase()
  const queueUrl = `redis://127.0.0.1:${await freePort()}`
  await expect(
    syncOnce(url!, sandbox, { queueUrl, streams: ['availability'] }),
  ).rejects.toMatchObject({
    what: 'the request budget cannot be reached, so nothing is sent to the service',
    why: expect.stringContaining('ECONNREFUSED'),
    next: expect.stringContaining('DESKMIRROR_QUEUE_URL'),
    exitCode: 1,
  })
  expect(sandbox.log()).toEqual([])
})
