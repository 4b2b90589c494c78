import { databases } from '../support/databases.ts'
import { everyCombination } from './every-combination.ts'

for (const db of databases) if (db.name === 'postgres') everyCombination(db, (n) => n % 4 === 1)
