/** What `npm test` tries a part of: more random worlds, and every combination of the service's ways on both databases. */
import { everyCombination } from '../mirror/every-combination.ts'
import { randomWorlds } from '../mirror/random-worlds.ts'
import { databases } from '../support/databases.ts'

randomWorlds(300)
for (const db of databases) if (db.name !== 'pglite') everyCombination(db)
