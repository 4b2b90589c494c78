/** The isolation of transactions is ours, whatever the default of a role or a database is. */
import { sql } from 'kysely'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createDatabaseWith } from '../support/databases.ts'
import { sampled } from '../support/sampled.ts'

// What the stricter one refuses includes what the other one does.
for (const level of sampled(['serializable', 'repeatable read'], (_, index) => index === 0))
  test(`four first processes create one warehouse, and sync into it, where the default is ${level}`, async () => {
    const database = await createDatabaseWith('UTF8')
    onTestFinished(database.drop)
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()
    onTestFinished(() => admin.end())
    const name = new URL(database.url).pathname.slice(1)
    await admin.query(`alter database ${name} set default_transaction_isolation = '${level}'`)
    const opened = await Promise.all([1, 2, 3, 4].map(() => openWarehouse(database.url)))
    for (const warehouse of opened) onTestFinished(() => warehouse.close())
    expect(opened.filter(({ migration }) => migration?.applied.length)).toHaveLength(1)
    const shown = await opened[0]!.query("select current_setting('transaction_isolation') as level")
    expect(shown).toEqual([{ level: 'read committed' }])
    const inTransaction = await opened[0]!.db.transaction().execute(
      async (trx) =>
        (
          await sql<{
            level: string
          }>`select current_setting('transaction_isolation') as level`.execute(trx)
        ).rows,
    )
    expect(inTransaction).toEqual([{ level: 'read committed' }])

    const sandboxes = await Promise.all(
      [1, 2].map((seed) =>
        startSandbox({
          seed,
          size: { conversations: 6, visitors: 6, calls: 2, messagesPerConversation: 3, days: 1 },
          switches: { 'rate.kind': 'off' },
        }),
      ),
    )
    for (const sandbox of sandboxes) onTestFinished(() => sandbox.stop())
    const reports = await Promise.all(sandboxes.map((sandbox) => syncOnce(database.url, sandbox)))
    expect(reports.map(({ outcome }) => outcome)).toEqual(['complete', 'complete'])
  })
