/**
 * Every combination of undocumented behaviours on both databases, with more than one page of every
 * list at once.
 */

import { behaviourCombinations, multiPageSize } from '../mirror/sync/behaviour-combinations.ts'
import { testCombinations } from '../mirror/sync/test-combinations.ts'
import { databases } from '../support/databases.ts'

for (const db of databases)
  testCombinations(db, [...behaviourCombinations.keys()], () => multiPageSize)
