import { databases } from '../support/databases.ts'
import { testEveryCombination } from './every-combination.ts'

// The service's behaviour does not depend on the database, so each combination runs on one of the two, mostly the faster.
for (const db of databases) if (db.name === 'sqlite') testEveryCombination(db, (n) => n % 7 !== 1)
