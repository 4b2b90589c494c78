import { databases } from '../../support/databases.ts'
import { sampledCombinations, smallSizeOf, smallSwitchesOf } from './behaviour-combinations.ts'
import { testCombinations } from './test-combinations.ts'

const chosen = sampledCombinations.filter((_, index) => index % 10 === 1)
for (const db of databases)
  if (db.name === 'postgres') testCombinations(db, chosen, smallSizeOf, smallSwitchesOf)
