/** Queries of one snapshot agree with each other, and leave nothing behind. */
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openKysely } from '../../src/warehouse/connection-pool.ts'
import { parseDatabaseUrl } from '../../src/warehouse/location.ts'
import { openPostgresPool } from '../../src/warehouse/postgres.ts'
import { createProjectDb } from '../../src/warehouse/project-db.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import {
  inDurableTransactionOnce,
  inSnapshot,
  inTransaction,
} from '../../src/warehouse/transactions.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'

/** A warehouse, and another process that reads it. */
async function openReader(db: TestDatabase) {
  const database = await db.make()
  onTestFinished(() => database.drop())
  const writer = await database.open()
  const location = parseDatabaseUrl(database.url ?? '')
  const pool =
    location.kind === 'sqlite'
      ? openSqlitePool(location.path, { mustExist: true, synchronous: 'normal' })
      : await openPostgresPool(location.url, false)
  const reader = openKysely(pool)
  onTestFinished(() => reader.destroy())
  const insert = (key: string) =>
    writer.query(`insert into _metabase_metadata values ('${key}', 'value')`)
  return { reader, insert, kind: pool.kind }
}

const countNew = sql<{
  rows: number
}>`select count(*) as "rows" from _metabase_metadata where value = 'value'`

for (const db of databases) {
  test(`a row that is committed meanwhile is seen only by the next snapshot — ${db.name}`, async () => {
    const { reader, insert, kind } = await openReader(db)
    await inSnapshot(reader, kind, async (read) => {
      expect(await read(countNew)).toEqual([{ rows: 0 }])
      await insert('one')
      expect(await read(countNew)).toEqual([{ rows: 0 }])
    })
    expect(await inSnapshot(reader, kind, (read) => read(countNew))).toEqual([{ rows: 1 }])
  })

  test(`after a query that failed, the connection can be used again — ${db.name}`, async () => {
    const { reader, insert, kind } = await openReader(db)
    await expect(
      inSnapshot(reader, kind, (read) => read(sql`select 1 from nowhere`)),
    ).rejects.toThrow('nowhere')
    await insert('one')
    expect((await countNew.execute(reader)).rows).toEqual([{ rows: 1 }])
  })
}

test('an error that also ends the connection is the one that is reported', async () => {
  const path = join(createTempFolder(), 'main.db')
  for (const transact of [inTransaction, inDurableTransactionOnce]) {
    const db = openKysely(openSqlitePool(path, { mustExist: false, synchronous: 'normal' }))
    const lost = transact(createProjectDb(db, 'sqlite', 'p'), async () => {
      await db.destroy()
      throw new Error('the disk is gone')
    })
    await expect(lost).rejects.toThrow('the disk is gone')
  }
})
