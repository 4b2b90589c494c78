/** What an erasure deletes is of that visitor alone, whatever ids look like. */
import { expect, test } from 'vitest'
import { erase } from '../../../src/maintenance/sql/erase.ts'
import { settings } from '../../analytics/sql/facts-settings.ts'
import { databases } from '../../support/databases.ts'
import { commit, conversation, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

for (const db of databases)
  test(`gaps of rows whose ids contain an erased one stay open (${db.name})`, async () => {
    const { warehouse, mirror, list } = await openTestWarehouse(db)
    await mirror.commit(commit('visitors', [visitor('a_1'), visitor('a_12'), visitor('ab1')]))
    await mirror.commit(commit('conversations', [conversation('c_1', { visitor_id: 'a_1' })]))
    const own = [
      'parent:c_1',
      'parent:C_1:unread',
      'row:a_1',
      'reason:the messages of c_1 are too long',
    ]
    const ofOthers = ['parent:c_12', 'parent:cx1:unread', 'row:a_12', 'row:ab1', 'second:1']
    for (const [n, key] of [...own, ...ofOthers].entries())
      await warehouse.query(`insert into sync_gaps (project_id, id, stream, reason, found_at, seen_at, dedup_key)
        values ('main', '${n}', 'messages', 'why', '2026-01-01T00:00:00Z', 1, '${key}')`)
    const { calls } = settings
    await erase(warehouse.projectDb('main'), { visitor: 'a_1', calls }, 'ann')
    expect(await list('select dedup_key from sync_gaps order by dedup_key')).toEqual(
      ofOthers.toSorted(),
    )
  })

test('of a visitor with more conversations than a condition of SQLite has parts', async () => {
  const { warehouse, mirror, count } = await openTestWarehouse(databases[0]!)
  const many = Array.from({ length: 1100 }, (_, n) => conversation(`c${n}`, { visitor_id: 'a' }))
  await mirror.commit(commit('visitors', [visitor('a')]))
  await mirror.commit(commit('conversations', many))
  const { calls } = settings
  await erase(warehouse.projectDb('main'), { visitor: 'a', calls }, 'ann')
  expect(await count('conversations')).toBe(0)
})
