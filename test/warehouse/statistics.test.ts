/** What the databases know of how rows are spread: without it natural questions take minutes. */
import { expect, test } from 'vitest'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { databases } from '../support/databases.ts'
import { commit, visitor } from './row-fixtures.ts'
import { sqlHelpers, openTestWarehouse } from './test-warehouse.ts'

const visitors = (count: number) => Array.from({ length: count }, (_, n) => visitor(`v${n}`))

for (const db of databases) {
  test(`there are statistics after a first load, and new ones when it has grown a lot — ${db.name}`, async () => {
    const { mirror, place, list } = await openTestWarehouse(db)
    const counted = async (): Promise<number> => {
      const [found] =
        place.kind === 'sqlite'
          ? await list("select stat from sqlite_stat1 where tbl = 'visitors' and idx like 'sqlite_auto%'")
          : await list("select reltuples from pg_class where oid = 'visitors'::regclass")
      return Number(String(found ?? -1).split(' ')[0])
    }
    const load = async (count: number) => {
      const run = await mirror.startRun('incremental', 0)
      const { changed } = await mirror.commit(commit('visitors', visitors(count)))
      const report = { stream: 'visitors', requests: 1, rows: count, changed, tookMs: 1, skipped: null, failed: null }
      await mirror.finishRun(run, 'complete', [{ ...report, stream: 'visitors' }], 0)
    }
    await load(600)
    expect(await counted()).toBe(600)
    await load(601)
    expect(await counted()).toBe(600)
    await load(7000)
    // A server's own count of what has changed may be a second old; then its autovacuum is what comes next.
    if (place.kind === 'sqlite') expect(await counted()).toBe(7000)
  })
}

test('a small SQLite file has statistics when it has been closed', async () => {
  const { mirror, place, warehouse } = await openTestWarehouse(databases[0]!)
  await mirror.commit(commit('visitors', visitors(20)))
  await warehouse.close()
  const reading = async () => {
    const opened = await openWarehouse(place.url!, { access: 'read' })
    const { list } = sqlHelpers(opened)
    const found = await list("select tbl from sqlite_stat1 where tbl = 'visitors' limit 1")
    await opened.close()
    return found
  }
  expect(await reading()).toEqual(['visitors'])
})
