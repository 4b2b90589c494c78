/** Longer versions of tests: more random services, and every combination of the service's behaviours on both databases. */

import { databases } from '../support/databases.ts'
import { testEveryCombination } from '../sync/every-combination.ts'
import { testRandomServices } from '../sync/random-services.ts'

testRandomServices(300)
for (const db of databases) if (db.name !== 'pglite') testEveryCombination(db)
