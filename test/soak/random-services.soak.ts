/** Longer versions of tests: more random services, and every combination of the service's behaviours on both databases. */
import { databases } from '../support/databases.ts'
import { behaviourCombinations } from '../sync/behaviour-combinations.ts'
import { testRandomServices } from '../sync/random-services.ts'
import { testCombinations } from '../sync/test-combinations.ts'

testRandomServices(300)
for (const db of databases) testCombinations(db, [...behaviourCombinations.keys()])
