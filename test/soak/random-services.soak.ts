/**
 * Longer versions of tests: more random services, and every combination of the service's behaviours
 * on both databases.
 */

import { behaviourCombinations } from '../mirror/sync/behaviour-combinations.ts'
import { testRandomServices } from '../mirror/sync/random-services.ts'
import { testCombinations } from '../mirror/sync/test-combinations.ts'
import { databases } from '../support/databases.ts'

testRandomServices(300)
for (const db of databases) testCombinations(db, [...behaviourCombinations.keys()])
