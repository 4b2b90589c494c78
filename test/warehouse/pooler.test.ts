/**
 * A pooler (PgBouncer) that gives each transaction another connection: it works, or a message says
 * what to change.
 */
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { findDifferences, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createDatabaseWith } from '../support/databases.ts'
import { type PostgresProxyOptions, startPostgresProxy } from '../support/postgres-proxy.ts'

async function startPooler(
  options: NonNullable<PostgresProxyOptions['pool']>['options'],
  encoding = 'UTF8',
): Promise<string> {
  const own = await createDatabaseWith(encoding)
  onTestFinished(own.drop)
  const proxy = await startPostgresProxy(own.url, { pool: { options } })
  onTestFinished(proxy.stop)
  return proxy.url
}

for (const options of ['refused', 'ignored'] as const) {
  test(`through a pooler where settings of a connection are ${options}, two projects are mirrored at the same time`, async () => {
    const url = await startPooler(options)
    const size = {
      conversations: 8,
      visitors: 4,
      calls: 3,
      messagesPerConversation: [1, 4],
      days: 1,
    } as const
    const sandboxes = await Promise.all(
      [1, 2].map((seed) => startSandbox({ seed, size, switches: { 'rate.kind': 'off' } })),
    )
    for (const sandbox of sandboxes) onTestFinished(() => sandbox.stop())
    await (await openWarehouse(url)).close()
    for (const mode of ['full', 'incremental'] as const) {
      const reports = await Promise.all(
        sandboxes.map((sandbox) => syncOnce(url, sandbox, { mode })),
      )
      expect(reports.map(({ outcome }) => outcome)).toEqual(['complete', 'complete'])
    }
    const warehouse = await openWarehouse(url, { access: 'read' })
    for (const sandbox of sandboxes) expect(await findDifferences(warehouse, sandbox)).toEqual([])
    await warehouse.close()
  })
}

test('a pooler loses the schema of the URL: the message says so, and what to do', async () => {
  const url = new URL(await startPooler('refused'))
  url.searchParams.set('schema', 'main')
  await expect(openWarehouse(url.href)).rejects.toMatchObject({
    why: expect.stringMatching(/a connection pooler \(PgBouncer\) in front of it .*\?schema=/),
    next: expect.stringMatching(/alter role USER set search_path = main/),
    exitCode: 2,
  })
})

test.each(['LATIN1', 'SQL_ASCII'])(
  'a database with encoding %s is rejected before anything is stored',
  async (encoding) => {
    const own = await createDatabaseWith(encoding)
    onTestFinished(own.drop)
    await expect(openWarehouse(own.url)).rejects.toMatchObject({
      why: `its encoding is ${encoding}, which cannot hold all characters`,
      next: expect.stringMatching(/createdb --encoding=UTF8/),
      exitCode: 2,
    })
  },
)
