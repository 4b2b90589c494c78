import { databases } from '../support/databases.ts'
import { testEveryCombination } from './every-combination.ts'

for (const db of databases) if (db.name === 'postgres') testEveryCombination(db, (n) => n % 7 === 1)
