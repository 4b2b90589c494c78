/**
 * Longer versions of the golden tables: more worlds, all of them on every database, with every time
 * zone.
 */

import { testGoldenCommits } from '../analytics/sql/golden-commits.ts'
import { testGoldenWorlds } from '../analytics/sql/golden-worlds.ts'
import { databases } from '../support/databases.ts'

const firstSeed = Number(process.env['SEED'] ?? 1)

for (const group of [0, 1, 2])
  for (const db of databases) {
    testGoldenWorlds(
      db,
      group,
      Array.from({ length: 400 }, (_, n) => firstSeed + 400 * group + n),
    )
    for (let seed = firstSeed; seed < firstSeed + 10; seed++)
      testGoldenCommits(db, [3 * seed, 3 * seed + 1, 3 * seed + 2])
  }
