/** A warehouse without rows for one test, dropped after it, and helpers for SQL queries. */

import { onTestFinished } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import type { TestDatabase } from '../support/databases.ts'

export async function openTestWarehouse(
  db: Pick<TestDatabase, 'make'>,
  schema: 'discover' | 'freeze' = 'discover',
) {
  const database = await db.make()
  onTestFinished(() => database.drop())
  const warehouse = await database.open()
  return {
    database,
    warehouse,
    mirror: openMirror(warehouse, 'main', { schema }),
    ...sqlHelpers(warehouse),
  }
}

export function sqlHelpers(warehouse: Warehouse) {
  const all = (sql: string) => warehouse.query(sql)
  return {
    all,
    /** The only row. */
    one: async (sql: string) => {
      const rows = await all(sql)
      if (rows.length !== 1) throw new Error(`${rows.length} rows instead of one: ${sql}`)
      return rows[0] as Readonly<Record<string, unknown>>
    },
    /** One column, as a list. */
    list: async (sql: string) => (await all(sql)).map((row) => Object.values(row)[0]),
    count: async (table: string) => Number((await all(`select count(*) as n from ${table}`))[0]?.n),
  }
}
