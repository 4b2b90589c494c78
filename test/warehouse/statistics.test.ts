/** Statistics for the query planners: without them typical queries take minutes. */
import { expect, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { databases } from '../support/databases.ts'
import { commit, visitor } from './row-fixtures.ts'
import { openTestWarehouse, sqlHelpers } from './test-warehouse.ts'

const visitors = (count: number) => Array.from({ length: count }, (_, n) => visitor(`v${n}`))

for (const db of databases) {
  test(`statistics exist after a first sync, and are updated when a table has grown a lot — ${db.name}`, async () => {
    const { mirror, database, list } = await openTestWarehouse(db)
    const analyzedRows = async (): Promise<number> => {
      const [statistics] =
        database.kind === 'sqlite'
          ? await list(
              "select stat from sqlite_stat1 where tbl = 'visitors' and idx like 'sqlite_auto%'",
            )
          : await list("select reltuples from pg_class where oid = 'visitors'::regclass")
      return Number(String(statistics ?? -1).split(' ')[0])
    }
    const load = async (count: number) => {
      const run = await mirror.startRun('incremental', 0)
      const { changed } = await mirror.commit(commit('visitors', visitors(count)))
      const report = {
        stream: 'visitors',
        requests: 1,
        rows: count,
        changed,
        tookMs: 1,
        skipped: null,
        failed: null,
      }
      await mirror.finishRun(run, 'complete', [{ ...report, stream: 'visitors' }], 0)
    }
    await load(600)
    expect(await analyzedRows()).toBe(600)
    await load(601)
    expect(await analyzedRows()).toBe(600)
    await load(7000)
    // Postgres's count of changed rows may be a second old; then its autovacuum updates the
    // statistics later.
    if (database.kind === 'sqlite') expect(await analyzedRows()).toBe(7000)
  })
}

test('a small SQLite file has statistics after closing', async () => {
  const { mirror, database, warehouse } = await openTestWarehouse(databases[0]!)
  await mirror.commit(commit('visitors', visitors(20)))
  await warehouse.close()
  const readStatistics = async () => {
    const opened = await openWarehouse(database.url!, { access: 'read' })
    const { list } = sqlHelpers(opened)
    const tables = await list("select tbl from sqlite_stat1 where tbl = 'visitors' limit 1")
    await opened.close()
    return tables
  }
  expect(await readStatistics()).toEqual(['visitors'])
})
