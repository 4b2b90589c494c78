import { databases } from '../support/databases.ts'
import { testEveryCombination } from './every-combination.ts'

// What the service does is nothing to a database: each of its ways occurs on one of the two, mostly on the quicker one.
for (const db of databases) if (db.name === 'sqlite') testEveryCombination(db, (n) => n % 4 !== 1)
