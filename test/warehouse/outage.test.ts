/** Postgres goes away while a command works: it is waited for, nothing is lost, and nothing goes out twice. */

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { importWritebacks } from '../../src/app/import.ts'
import { pushProject } from '../../src/app/push.ts'
import { verifyProject } from '../../src/app/verify.ts'
import { streamNames } from '../../src/core/row.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/open.ts'
import { configOf, projectConfigOf, syncOnce, findDifferences } from '../sync/sync-sandbox.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { type PrivatePostgres, startPrivatePostgres } from '../support/postgres-server.ts'

let server: PrivatePostgres
beforeAll(async () => {
  server = await startPrivatePostgres()
})
afterAll(() => server.stop())

const size = { conversations: 30, visitors: 20, calls: 5, days: 2 }
const log = pino({ level: 'silent' })
const signal = new AbortController().signal

/** A sandbox, and an empty schema for its mirror. */
async function setUp(): Promise<{
  readonly sandbox: Sandbox
  readonly url: string
  readonly warehouse: () => Promise<Warehouse>
}> {
  const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
  onTestFinished(() => sandbox.stop())
  const schema = `own_${sandbox.projectId.slice(0, 8)}_${Math.floor(performance.now())}`
  const administrator = await openWarehouse(server.url)
  await administrator.query(`create schema ${schema}`)
  await administrator.close()
  const url = new URL(server.url)
  url.searchParams.set('schema', schema)
  const warehouse = async () => {
    const opened = await openWarehouse(url.href)
    onTestFinished(() => opened.close())
    return opened
  }
  return { sandbox, url: url.href, warehouse }
}

/** Calls once, at the so-manieth time that it is called itself. */
function onNthCall(count: number, what: () => void): () => void {
  let calls = 0
  return () => {
    calls += 1
    if (calls === count) what()
  }
}

describe('a Postgres that loses its power and comes back', () => {
  test('while sync runs is waited for: it is said, and the mirror is whole', async () => {
    const { sandbox, url, warehouse } = await setUp()
    const told: string[] = []
    let back = Promise.resolve()
    const away = Promise.withResolvers<void>()
    const strike = onNthCall(30, () => {
      // It stays away until that has been noticed.
      back = server.crash(() => away.promise)
    })
    const notify = (line: string) => {
      told.push(line)
      away.resolve()
    }
    const report = await syncOnce(url, sandbox, { onProgress: strike, notify })
    await back
    expect(report.outcome).toBe('complete')
    expect(told).toEqual([
      expect.stringMatching(
        /^cannot use the warehouse postgres:\/\/127\.0\.0\.1:\d+\/postgres: .*; trying again for 5 minutes$/,
      ),
      'the warehouse answers again',
    ])
    const opened = await warehouse()
    expect(await findDifferences(opened, sandbox)).toEqual([])
    const [runs] = await opened.query('select count(*) as n from sync_runs where finished_at is null')
    expect(Number(runs?.n)).toBe(0)
  })

  test('while verify runs is waited for', async () => {
    const { sandbox, url } = await setUp()
    await syncOnce(url, sandbox)
    const project = projectConfigOf(sandbox)
    const away = Promise.withResolvers<void>()
    let back = Promise.resolve()
    const strike = onNthCall(10, () => {
      back = server.crash(() => away.promise)
    })
    const asked = { streams: streamNames, limit: 10, signal, log, onProgress: strike, notify: () => away.resolve() }
    const report = await verifyProject(configOf(url, project), project, asked)
    await back
    expect(report.differences).toEqual([])
    expect(report.streams.find(({ stream }) => stream === 'messages')?.compared).toBeGreaterThan(30)
  })

  test('that does not come back ends the command when somebody stops it, with the reason', async () => {
    const { sandbox, url } = await setUp()
    const stop = new AbortController()
    let back = Promise.resolve()
    const ended = Promise.withResolvers<void>()
    const strike = onNthCall(20, () => {
      back = server.crash(() => ended.promise)
    })
    const sync = syncOnce(url, sandbox, { signal: stop.signal, onProgress: strike, notify: () => stop.abort() })
    await expect(sync).rejects.toMatchObject({ what: expect.stringMatching(/^cannot use the warehouse/), exitCode: 1 })
    ended.resolve()
    await back
  })
})

describe('a connection that breaks just when a commit should be answered', () => {
  test('in a sync repeats a page at the most', async () => {
    const { sandbox, url, warehouse } = await setUp()
    let commits = 0
    const proxy = await startPostgresProxy(url, { shouldLoseCommit: () => ++commits % 7 === 0 })
    onTestFinished(proxy.stop)
    await (await warehouse()).close()
    expect(await syncOnce(proxy.url, sandbox)).toMatchObject({ outcome: 'complete' })
    expect(commits).toBeGreaterThan(30)
    const opened = await warehouse()
    expect(await findDifferences(opened, sandbox)).toEqual([])
    expect(await opened.query('select * from conversation_changes')).toEqual([])
  })

  test('in a push sends nothing twice, and leaves nothing in doubt', async () => {
    const { sandbox, url, warehouse } = await setUp()
    await syncOnce(url, sandbox)
    const opened = await warehouse()
    const project = projectConfigOf(sandbox, { verifyAfterMs: 200 })
    const ids = [...sandbox.truth('conversations')].map(({ id }) => id)
    const lines = ids.map((id) =>
      JSON.stringify({ operation: 'message', conversation_id: id, content: `To ${id}`, sender_name: 'Ann' }),
    )
    const config = configOf(url, project)
    await importWritebacks(config, project, { source: chunks(lines), name: 'replies', format: 'jsonl' }, importing)
    // Of claims only the leases would notify, minutes later.
    let written = 0
    const lose = (statements: readonly string[]) =>
      /'about to be sent'|set status = \$/.test(statements.join()) && ++written % 5 === 0
    const proxy = await startPostgresProxy(url, { shouldLoseCommit: lose })
    onTestFinished(proxy.stop)
    const through = { ...config, databaseUrl: proxy.url }
    const pushing = { signal, log, onProgress: () => {}, onBudget: () => {}, despiteFailures: true }
    expect(await pushProject(through, project, pushing)).toMatchObject({ queue: { succeeded: ids.length } })
    expect(written).toBeGreaterThan(ids.length * 2)
    const sent = sandbox.ledger().map(({ body }) => (body as { readonly content: string }).content)
    expect(sent.toSorted()).toEqual(ids.map((id) => `To ${id}`).toSorted())
    expect(await opened.outboxAdmin(sandbox.projectId).countByStatus({})).toEqual({ succeeded: ids.length })
  })

  test('in an import queues all of it once, and says so', async () => {
    const { sandbox, url, warehouse } = await setUp()
    const opened = await warehouse()
    const project = projectConfigOf(sandbox)
    let lost = 0
    const proxy = await startPostgresProxy(url, {
      shouldLoseCommit: (statements) => statements.some((text) => text.includes('insert into writebacks')) && ++lost === 1,
    })
    onTestFinished(proxy.stop)
    const lines = [1, 2, 3].map((n) =>
      JSON.stringify({ operation: 'note', visitor_id: sandbox.projectId, content: `n${n}` }),
    )
    const given = { source: chunks(lines), name: 'notes', format: 'jsonl' } as const
    const report = await importWritebacks(configOf(proxy.url, project), project, given, importing)
    expect(report).toMatchObject({ outcome: 'queued', queued: 3, known: 0 })
    expect(lost).toBe(1)
    expect(await opened.outboxAdmin(sandbox.projectId).countByStatus({})).toEqual({ queued: 3 })
  })
})

const importing = { createdBy: 'test', expiresAt: null, now: Date.now(), onProgress: () => {}, onQueueing: () => {} }

async function* chunks(lines: readonly string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}
