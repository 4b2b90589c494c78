/**
 * Facts follow the commits of a sync, in whatever order these bring the rows, and end as the naive
 * model says.
 */
import { databases } from '../../support/databases.ts'
import { testGoldenCommits } from './golden-commits.ts'

const firstSeed = Number(process.env['SEED'] ?? 1)

for (const [index, db] of databases.entries())
  testGoldenCommits(
    db,
    [0, 1, 2].map((n) => firstSeed + 3 * index + n),
  )
