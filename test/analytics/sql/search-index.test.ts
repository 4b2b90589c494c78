/** The numbers of searched conversations: each its own, whatever times the service shows. */
import { expect, test } from 'vitest'
import { insertSearchEntries, lastMessageAt } from '../../../src/analytics/sql/search-index.ts'
import { databases } from '../../support/databases.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

for (const db of databases)
  test(`a thousand conversations of the last second of the year 9999 are found (${db.name})`, async () => {
    const { warehouse, list } = await openTestWarehouse(db)
    const lastAt = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000
    const conversations = Array.from({ length: 1000 }, (_, n) => ({
      id: `c${n}`,
      lastAt,
      texts: ['hello'],
    }))
    await insertSearchEntries(warehouse.projectDb('main'), conversations)
    const numbers = (await list('select id from search_conversations')).map(Number)
    expect(new Set(numbers).size).toBe(1000)
    expect(numbers.every(Number.isSafeInteger)).toBe(true)
    // The number no longer tells the time.
    expect(lastMessageAt(numbers[0]!)).toBeNull()
  })
