import { databases } from '../support/databases.ts'
import { everyCombination } from './every-combination.ts'

// What the service does is nothing to a database: here it is enough that each of its ways occurs.
for (const db of databases) if (db.name === 'postgres') everyCombination(db, 2)
