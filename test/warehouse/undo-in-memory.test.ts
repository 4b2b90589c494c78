/** Where SQLite keeps what it needs to undo a statement. */
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openKysely } from '../../src/warehouse/connection-pool.ts'
import { createProjectDb } from '../../src/warehouse/project-db.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import { inTransaction } from '../../src/warehouse/transactions.ts'
import { createTempFolder } from '../support/temp-folder.ts'

test('is memory in transactions of the mirror only, whether they succeed or fail', async () => {
  const path = join(createTempFolder(), 'main.db')
  const db = openKysely(openSqlitePool(path, { mustExist: false, synchronous: 'normal' }))
  onTestFinished(() => db.destroy())
  const context = createProjectDb(db, 'sqlite', 'p')
  const readSetting = async (from = db) =>
    (await sql<{ temp_store: number }>`pragma temp_store`.execute(from)).rows[0]?.temp_store
  const within: unknown[] = []
  const run = (fails: boolean) =>
    inTransaction(context, async (trx) => {
      within.push(await readSetting(trx.db))
      if (fails) throw new Error('failed')
    })
  for (const fails of [false, true, false]) {
    await (fails ? expect(run(fails)).rejects.toThrow('failed') : run(fails))
    expect(await readSetting()).toBe(0)
  }
  expect(within).toEqual([2, 2, 2])
})
