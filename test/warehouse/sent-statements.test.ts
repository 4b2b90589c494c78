/** Statements of Postgres that are sent without waiting for the answer. */
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { type Db, openKysely, sendStatement } from '../../src/warehouse/connection-pool.ts'
import { openPostgresPool } from '../../src/warehouse/postgres.ts'
import { createDatabaseWith } from '../support/databases.ts'

/** With a table of numbers that may not be negative. */
async function openNumbers() {
  const { url, drop } = await createDatabaseWith('UTF8')
  onTestFinished(drop)
  const db = openKysely(await openPostgresPool(url))
  onTestFinished(() => db.destroy())
  await sql`create table numbers (n integer primary key check (n >= 0))`.execute(db)
  const stored = async () =>
    (await sql<{ n: number }>`select n from numbers order by n`.execute(db)).rows.map((row) => row.n)
  return { db, stored }
}

const insert = (n: number) => sql`insert into numbers values (${n})`

test('what was sent is done in its order, and committed', async () => {
  const { db, stored } = await openNumbers()
  const seen = await db.transaction().execute(async (trx) => {
    for (const n of [1, 2, 3]) await sendStatement(trx, insert(n))
    const { rows } = await sql<{ sum: number }>`select sum(n) as sum from numbers`.execute(trx)
    await sendStatement(trx, insert(4))
    return Number(rows[0]?.sum)
  })
  expect({ seen, stored: await stored() }).toEqual({ seen: 6, stored: [1, 2, 3, 4] })
})

const followUps: Readonly<Record<string, (trx: Db) => Promise<unknown>>> = {
  'the next statement': (trx) => sql`select 1`.execute(trx),
  'the commit': async () => {},
}

for (const [name, next] of Object.entries(followUps)) {
  test(`${name} fails with the failure of what was sent, and nothing is stored`, async () => {
    const { db, stored } = await openNumbers()
    const work = db.transaction().execute(async (trx) => {
      await sendStatement(trx, insert(1))
      await sendStatement(trx, insert(-1))
      await sendStatement(trx, insert(2))
      return next(trx)
    })
    await expect(work).rejects.toMatchObject({ code: '23514' })
    expect(await stored()).toEqual([])
  })
}

test('a failure within a savepoint is undone with it', async () => {
  const { db, stored } = await openNumbers()
  await db.transaction().execute(async (trx) => {
    await sendStatement(trx, insert(1))
    await sql`savepoint attempt`.execute(trx)
    await sendStatement(trx, insert(-1))
    await expect(sql`release savepoint attempt`.execute(trx)).rejects.toMatchObject({ code: '23514' })
    await sql`rollback to savepoint attempt`.execute(trx)
    await sendStatement(trx, insert(2))
  })
  expect(await stored()).toEqual([1, 2])
})

test('outside of a transaction the failure is thrown at once', async () => {
  const { db } = await openNumbers()
  await expect(sendStatement(db, insert(-1))).rejects.toMatchObject({ code: '23514' })
})
