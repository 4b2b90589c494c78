/** Every combination of undocumented behaviours on both databases, with more than one page of every list at once. */
import { sqliteAndPostgres } from '../support/databases.ts'
import { multiPageSize } from '../sync/behaviour-combinations.ts'
import { testEveryCombination } from '../sync/every-combination.ts'

for (const db of sqliteAndPostgres)
  testEveryCombination(
    db,
    () => true,
    () => multiPageSize,
  )
