/**
 * Postgres becomes unavailable during a command: the command waits, loses nothing and sends nothing
 * twice.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { streamNames } from '../../schema/stream-specs.ts'
import { importWritebacks } from '../../src/app/import.ts'
import { openWarehouse, type Warehouse } from '../../src/app/open.ts'
import { pushProject } from '../../src/app/push.ts'
import { verifyProject } from '../../src/app/verify.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  configOf,
  findDifferences,
  projectConfigOf,
  syncOnce,
} from '../mirror/sync/sync-sandbox.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { type PrivatePostgres, startPrivatePostgres } from '../support/postgres-server.ts'
import { sampled, sampledTest } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { startWorkerProcess } from '../worker/worker-process.ts'

let server: PrivatePostgres
let copies = 0
beforeAll(async () => {
  server = await startPrivatePostgres()
  await (await openWarehouse(server.url)).close()
})
afterAll(() => server.stop())

const size = {
  conversations: 10,
  visitors: 4,
  calls: 2,
  messagesPerConversation: [3, 5],
  activityPerVisitor: 2,
  days: 1,
} as const
const log = pino({ level: 'silent' })
const signal = new AbortController().signal

/**
 * A sandbox, and a warehouse without rows for its mirror: a copy, as migrating takes far longer.
 */
async function setUp(): Promise<{
  readonly sandbox: Sandbox
  readonly url: string
  readonly warehouse: () => Promise<Warehouse>
}> {
  const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
  onTestFinished(() => sandbox.stop())
  const url = new URL(server.url)
  url.pathname = '/template1'
  const administrator = new pg.Client({ connectionString: url.href })
  await administrator.connect()
  copies += 1
  await administrator.query(`create database copy_${copies} template postgres`)
  await administrator.end()
  url.pathname = `/copy_${copies}`
  const warehouse = async () => {
    const opened = await openWarehouse(url.href)
    onTestFinished(() => opened.close())
    return opened
  }
  return { sandbox, url: url.href, warehouse }
}

/** Calls `action` once, on the n-th call. */
function onNthCall(n: number, action: () => void): () => void {
  let calls = 0
  return () => {
    calls += 1
    if (calls === n) action()
  }
}

describe('a Postgres that crashes and restarts', () => {
  test('during a sync: the sync reports it, waits, and completes the mirror', async () => {
    const { sandbox, url, warehouse } = await setUp()
    const messages: string[] = []
    let restarted = Promise.resolve()
    const noticed = Promise.withResolvers<void>()
    const crashOnce = onNthCall(15, () => {
      // It stays down until the command has noticed it.
      restarted = server.crash(() => noticed.promise)
    })
    const notify = (line: string) => {
      messages.push(line)
      noticed.resolve()
    }
    const report = await syncOnce(url, sandbox, { onProgress: crashOnce, notify })
    await restarted
    expect(report.outcome).toBe('complete')
    expect(messages).toEqual([
      expect.stringMatching(
        /^cannot use the warehouse postgres:\/\/127\.0\.0\.1:\d+\/copy_1: .*; trying again for 5 minutes$/,
      ),
      'the warehouse answers again',
    ])
    const opened = await warehouse()
    expect(await findDifferences(opened, sandbox)).toEqual([])
    const [runs] = await opened.query(
      'select count(*) as n from sync_runs where finished_at is null',
    )
    expect(Number(runs?.n)).toBe(0)
  })

  // As a sync does.
  sampledTest(false, 'during a verify: the command waits', async () => {
    const { sandbox, url } = await setUp()
    await syncOnce(url, sandbox)
    const project = projectConfigOf(sandbox)
    const noticed = Promise.withResolvers<void>()
    let restarted = Promise.resolve()
    const crashOnce = onNthCall(10, () => {
      restarted = server.crash(() => noticed.promise)
    })
    const options = {
      streams: streamNames,
      limit: 10,
      signal,
      log,
      onProgress: crashOnce,
      notify: () => noticed.resolve(),
    }
    const report = await verifyProject(configOf(url, project), project, options)
    await restarted
    expect(report.differences).toEqual([])
    expect(report.streams.find(({ stream }) => stream === 'messages')?.compared).toBeGreaterThan(30)
  })

  test('whose main process is killed while a worker sends: each lane goes on at once, and nothing is sent twice', async () => {
    const { sandbox, url, warehouse } = await setUp()
    await syncOnce(url, sandbox)
    const project = projectConfigOf(sandbox)
    const contents = [...sandbox.truth('conversations')].flatMap(({ id }) =>
      [1, 2].map((n) => ({ id, content: `Answer ${n} to ${id}` })),
    )
    const lines = contents.map(({ id, content }) =>
      JSON.stringify({ operation: 'message', conversation_id: id, content, sender_name: 'Ann' }),
    )
    const file = { source: chunks(lines), name: 'replies', parse: {} }
    await importWritebacks(configOf(url, project), project, file, importing)
    sandbox.setSwitches({ 'latency.after': 50 })
    const worker = startWorkerProcess(
      { databaseUrl: url, queueUrl: 'embedded', cwd: createTempFolder() },
      sandbox,
      { DESKMIRROR_VERIFY_AFTER: '200ms', DESKMIRROR_SCHEDULE_INCREMENTAL: '1h' },
    )
    const lost = () => worker.log.filter(({ event }) => event === 'warehouse.lost').length
    for (const sent of sampled([10, 30], (count) => count === 10)) {
      while (sandbox.ledger().length < sent) await sleep(1)
      const before = lost()
      await server.kill(async () => {
        while (lost() === before) await sleep(10)
      })
    }
    const restartedAt = performance.now()
    const opened = await warehouse()
    const isOpen = async () =>
      (await opened.query(`select 1 from writebacks where status <> 'succeeded' limit 1`)).length >
      0
    while (await isOpen()) await sleep(100)
    // A claim lasts two minutes.
    expect(performance.now() - restartedAt).toBeLessThan(110_000)
    const sent = sandbox.ledger().map(({ body }) => (body as { readonly content: string }).content)
    expect(sent.toSorted()).toEqual(contents.map(({ content }) => content).toSorted())
  })

  test('that does not restart: the command ends when it is stopped, with the reason', async () => {
    const { sandbox, url } = await setUp()
    const stop = new AbortController()
    let restarted = Promise.resolve()
    const ended = Promise.withResolvers<void>()
    const crashOnce = onNthCall(20, () => {
      restarted = server.crash(() => ended.promise)
    })
    const sync = syncOnce(url, sandbox, {
      signal: stop.signal,
      onProgress: crashOnce,
      notify: () => stop.abort(),
    })
    await expect(sync).rejects.toMatchObject({
      what: expect.stringMatching(/^cannot use the warehouse/),
      exitCode: 1,
    })
    ended.resolve()
    await restarted
  })
})

/**
 * The tables that a transaction writes, as pages of several streams may share it; `together`:
 * several pages of messages.
 */
function tablesWritten(statements: readonly string[]): readonly string[] {
  const tables = statements.flatMap(
    (statement) => /^\s*(?:insert into|update|delete from) "?(\w+)/.exec(statement)?.[1] ?? [],
  )
  // Opening a warehouse is not retried, and a lost lock has to expire.
  if (/^sync_(schema|locks)/.test(tables[0] ?? '')) return []
  const pages = statements.filter((statement) => statement.includes('insert into "message_rows"'))
  return pages.length > 1 ? [...tables, 'message_rows together'] : tables
}

describe('a connection that breaks before the response to a commit', () => {
  test('in a sync, whatever the commit stores: nothing is requested again, and the mirror is complete', async () => {
    const { sandbox, url, warehouse } = await setUp()
    const opened = await warehouse()
    const lost = new Set<string>()
    const shouldLoseCommit = (statements: readonly string[]) => {
      const tables = tablesWritten(statements)
      const isFirst = tables.some((table) => !lost.has(table))
      for (const table of tables) lost.add(table)
      return isFirst
    }
    const proxy = await startPostgresProxy(url, { shouldLoseCommit })
    onTestFinished(proxy.stop)
    expect(await syncOnce(proxy.url, sandbox)).toMatchObject({ outcome: 'complete' })
    const ofEachStep = [
      'conversations',
      'message_rows',
      'message_rows together',
      'sync_cursors',
      'facts_state',
    ]
    expect([...lost]).toEqual(expect.arrayContaining(ofEachStep))
    const paths = sandbox.log().map(({ path, query }) => `${path}?${query}`)
    expect(
      paths.filter((path, i) => path.includes('/messages') && paths.indexOf(path) !== i),
    ).toEqual([])
    expect(await findDifferences(opened, sandbox)).toEqual([])
    expect(await opened.query('select * from conversation_changes')).toEqual([])
    expect(await opened.query('select * from facts_due')).toEqual([])
  })

  test('in a push: nothing is sent twice, and nothing is uncertain', async () => {
    const { sandbox, url, warehouse } = await setUp()
    await syncOnce(url, sandbox)
    const opened = await warehouse()
    const project = projectConfigOf(sandbox, { verifyAfterMs: 200 })
    const ids = [...sandbox.truth('conversations')].map(({ id }) => id)
    const lines = ids.map((id) =>
      JSON.stringify({
        operation: 'message',
        conversation_id: id,
        content: `To ${id}`,
        sender_name: 'Ann',
      }),
    )
    const config = configOf(url, project)
    await importWritebacks(
      config,
      project,
      { source: chunks(lines), name: 'replies', parse: {} },
      importing,
    )
    // Lost claims would only be noticed when their leases end, minutes later.
    let written = 0
    const lose = (statements: readonly string[]) =>
      /'about to be sent'|set status = \$/.test(statements.join()) && ++written % 5 === 0
    const proxy = await startPostgresProxy(url, { shouldLoseCommit: lose })
    onTestFinished(proxy.stop)
    const through = { ...config, databaseUrl: proxy.url }
    const pushing = { signal, log, onProgress: () => {}, onBudget: () => {}, despiteFailures: true }
    expect(await pushProject(through, project, pushing)).toMatchObject({
      queue: { succeeded: ids.length },
    })
    // At least two for each, of which every fifth was lost.
    expect(written).toBeGreaterThanOrEqual(ids.length * 2)
    const sent = sandbox.ledger().map(({ body }) => (body as { readonly content: string }).content)
    expect(sent.toSorted()).toEqual(ids.map((id) => `To ${id}`).toSorted())
    expect(await createOutbox(opened.projectDb(sandbox.projectId)).countByStatus({})).toEqual({
      succeeded: ids.length,
    })
  })

  test('in an import: everything is queued once', async () => {
    const { sandbox, url, warehouse } = await setUp()
    const opened = await warehouse()
    const project = projectConfigOf(sandbox)
    let lost = 0
    const proxy = await startPostgresProxy(url, {
      shouldLoseCommit: (statements) =>
        statements.some((text) => text.includes('insert into writebacks')) && ++lost === 1,
    })
    onTestFinished(proxy.stop)
    const lines = [1, 2, 3].map((n) =>
      JSON.stringify({ operation: 'note', visitor_id: sandbox.projectId, content: `n${n}` }),
    )
    const given = { source: chunks(lines), name: 'notes', parse: {} } as const
    const report = await importWritebacks(configOf(proxy.url, project), project, given, importing)
    expect(report).toMatchObject({ outcome: 'queued', queued: 3, alreadyQueued: 0 })
    expect(lost).toBe(1)
    expect(await createOutbox(opened.projectDb(sandbox.projectId)).countByStatus({})).toEqual({
      queued: 3,
    })
  })
})

const importing = {
  createdBy: 'test',
  expiresAt: null,
  now: Date.now(),
  title: null,
  note: null,
  draft: false,
  allowDuplicates: false,
  mistakesTarget: null,
  onProgress: () => {},
  onReviews: null,
  onReview: async () => {},
}

async function* chunks(lines: readonly string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}
