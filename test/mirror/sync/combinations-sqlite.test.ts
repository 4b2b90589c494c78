import { databases } from '../../support/databases.ts'
import { sampledCombinations, smallSizeOf, smallSwitchesOf } from './behaviour-combinations.ts'
import { testCombinations } from './test-combinations.ts'

// The service's behaviour does not depend on the database, so each combination runs on one of the
// two, mostly the faster. The soak runs all of them.
const chosen = sampledCombinations.filter((_, index) => index % 2 === 0)
for (const db of databases)
  if (db.name === 'sqlite') testCombinations(db, chosen, smallSizeOf, smallSwitchesOf)
