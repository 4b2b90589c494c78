/** Every combination of undocumented behaviours on both databases, with more than one page of every list at once. */
import { databases } from '../support/databases.ts'
import { behaviourCombinations, multiPageSize } from '../sync/behaviour-combinations.ts'
import { testCombinations } from '../sync/test-combinations.ts'

for (const db of databases) testCombinations(db, [...behaviourCombinations.keys()], () => multiPageSize)
