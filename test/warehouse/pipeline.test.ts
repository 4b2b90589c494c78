/** Transactions in Postgres whose statements do not wait for the results of those before. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openWarehouse, type Warehouse } from '../../src/app/open.ts'
import { WarehouseError } from '../../src/warehouse/explain-error.ts'
import type { ProjectDb } from '../../src/warehouse/project-db.ts'
import { inTransaction } from '../../src/warehouse/transactions.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

let database: DatabaseInstance
let warehouse: Warehouse
beforeEach(async () => {
  database = await databases[1].make()
  onTestFinished(() => database.drop())
  warehouse = await database.open()
  await warehouse.query(`create table steps (at serial, step int,
    constraint once unique (step) deferrable initially deferred)`)
})

const insert = ({ db }: ProjectDb, step: number) =>
  sql<{ at: number }>`insert into steps (step) values (${step}) returning at`.execute(db)
const divide = ({ db }: ProjectDb, by: number) => sql`select 1 / ${by}::int`.execute(db)
const backend = async ({ db }: ProjectDb) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid
const stored = async () =>
  (await warehouse.query('select step from steps order by at')).flatMap(Object.values)
const inMain = <T>(work: (trx: ProjectDb) => Promise<T>, of = warehouse) =>
  inTransaction(of.projectDb('main'), work)
const codesOf = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map((result) => (result.status === 'fulfilled' ? 'done' : result.reason.code))

/** Answers of the server are held back from the first `text` that is sent until the last one. */
async function holdAnswers(url: string, first: string, last: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const held: Buffer[] = []
    let isHolding = false
    client.on('data', (data) => {
      isHolding ||= data.includes(first)
      upstream.write(data)
      if (!data.includes(last)) return
      isHolding = false
      for (const answer of held.splice(0)) client.write(answer)
    })
    upstream.on('data', (data) => void (isHolding ? held.push(data) : client.write(data)))
    const close = (other: Socket) => () => void other.destroy()
    client.on('error', () => {}).on('close', close(upstream))
    upstream.on('error', () => {}).on('close', close(client))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const proxied = new URL(url)
  const address = server.address()
  proxied.port = String(typeof address === 'object' ? address?.port : '')
  return proxied.href
}

test('all statements are sent before the first is answered, and run in their order', async () => {
  const url = await holdAnswers(database.url, 'statement-0 ', 'statement-99 ')
  const far = await openWarehouse(url)
  onTestFinished(() => far.close())
  const results = await inMain(
    ({ db }) =>
      Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          sql<{ n: number; rows: number }>`insert into steps (step) values (${n})
            returning step as n, (select count(*) from steps) as rows, ${`statement-${n} `}::text`
            .execute(db)
            .then(({ rows }) => rows[0]),
        ),
      ),
    far,
  )
  // Each got its own answer, and saw all that was sent before it.
  expect(results.map((row) => [row?.n, row?.rows])).toEqual(results.map((_, n) => [n, n]))
  expect(await stored()).toEqual(results.map((_, n) => n))
})

test('a statement that fails fails by its own error, and undoes those before and after it', async () => {
  let results: readonly PromiseSettledResult<unknown>[] = []
  let used = 0
  const failed = inMain(async (trx) => {
    const all = [insert(trx, 1), insert(trx, 2), divide(trx, 0), insert(trx, 3), divide(trx, 1)]
    results = await Promise.allSettled(all)
    used = await backend(trx)
  })
  await expect(failed).rejects.toMatchObject({ code: '25P02' })
  expect(codesOf(results)).toEqual(['done', 'done', '22012', '25P02', '25P02'])
  const failedFirst = inMain((trx) => Promise.all([insert(trx, 1), divide(trx, 0), insert(trx, 3)]))
  await expect(failedFirst).rejects.toMatchObject({ code: '22012' })
  expect(await stored()).toEqual([])
  // The same connection serves the next transaction.
  const next = await inMain(async (trx) => [(await insert(trx, 4)).rows.length, await backend(trx)])
  expect([next, await stored()]).toEqual([[1, used || next[1]], [4]])
})

test('a transaction that lost a statement is not taken for committed, though nobody asked', async () => {
  const unasked: Promise<unknown>[] = []
  const lost = inMain(async (trx) => {
    await insert(trx, 1)
    unasked.push(Promise.allSettled([divide(trx, 0)]))
    await new Promise(setImmediate)
  })
  await expect(lost).rejects.toThrow('rolled back')
  expect(await stored()).toEqual([])
  await Promise.all(unasked)
})

test('a connection that waited for the lock in vain serves the next transaction', async () => {
  const waiting = await openWarehouse(`${database.url}&options=-c%20lock_timeout%3D50`)
  onTestFinished(() => waiting.close())
  await inMain(async (trx) => {
    await insert(trx, 1)
    await expect(inMain((late) => insert(late, 2), waiting)).rejects.toMatchObject({
      code: '55P03',
    })
  })
  await inMain((trx) => insert(trx, 3), waiting)
  expect(await stored()).toEqual([1, 3])
})

test('what fails only at the commit undoes the transaction', async () => {
  const twice = inMain((trx) => Promise.all([insert(trx, 1), insert(trx, 1)]))
  await expect(twice).rejects.toMatchObject({ code: '23505' })
  expect(await stored()).toEqual([])
})

test('a part that failed behind a savepoint leaves the rest to be committed', async () => {
  await inMain(async (trx) => {
    const run = (text: string) => sql.raw(text).execute(trx.db)
    const all = [insert(trx, 1), run('savepoint a'), insert(trx, 2), divide(trx, 0)]
    expect(codesOf(await Promise.allSettled(all))).toEqual(['done', 'done', 'done', '22012'])
    await Promise.all([run('rollback to savepoint a'), run('release savepoint a'), insert(trx, 3)])
  })
  expect(await stored()).toEqual([1, 3])
})

for (const ending of ['commit', 'rollback'] as const)
  test(`nothing is sent after the ${ending}`, async () => {
    let leaked: ProjectDb | undefined
    const ended = inMain(async (trx) => {
      leaked = trx
      await insert(trx, 1)
      if (ending === 'rollback') throw new Error('on purpose')
    }).catch(({ message }: Error) => message)
    expect(await ended).toBe(ending === 'rollback' ? 'on purpose' : undefined)
    await expect(insert(leaked!, 2)).rejects.toThrow('the transaction has ended')
    expect(await stored()).toEqual(ending === 'commit' ? [1] : [])
  })

test('a lost connection fails all that was sent, stores nothing, and is not used again', async () => {
  const proxy = await startTcpProxy(database.url)
  const far = await openWarehouse(proxy.url)
  onTestFinished(() => far.close())
  let results: readonly PromiseSettledResult<unknown>[] = []
  const lost = inMain(async (trx) => {
    const sleeping = sql`select pg_sleep(60)`.execute(trx.db)
    results = await Promise.allSettled([insert(trx, 1), sleeping, insert(trx, 2)])
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }, far)
  const sleeper = `from pg_stat_activity
    where query like 'select pg_sleep(60)%' and state = 'active'`
  const isSleeping = async () => (await warehouse.query(`select pid ${sleeper}`)).length === 1
  while (!(await isSleeping())) await new Promise(setImmediate)
  proxy.disconnect()
  const error = await lost.catch((failed: unknown) => failed)
  expect(error).toBeInstanceOf(WarehouseError)
  expect((error as WarehouseError).kind).toBe('unavailable')
  // The answer to the first may still have been under way.
  expect(results.slice(1).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  // The server would notice only at the end of the statement that the client is gone.
  await warehouse.query(`select pg_terminate_backend(pid) ${sleeper}`)
  proxy.restore()
  await inMain((trx) => insert(trx, 3), far)
  expect(await stored()).toEqual([3])
})
