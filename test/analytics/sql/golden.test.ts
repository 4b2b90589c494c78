/**
 * Golden tables: over random worlds, every table and view for analysts shows what an independent
 * naive model says, after a first derivation and after each refresh of only what changed, and a
 * rebuild changes nothing.
 */
import { databases } from '../../support/databases.ts'
import { sampledCount } from '../../support/sampled.ts'
import { testGoldenWorlds } from './golden-worlds.ts'

const worlds = sampledCount(20, 60)
const firstSeed = Number(process.env['SEED'] ?? 1)
const seeds = Array.from({ length: worlds }, (_, n) => firstSeed + n)

/** Of ten worlds. The soak test runs all worlds on each database. */
const shares = { sqlite: [0, 1, 2, 3, 4], postgres: [5, 6, 7, 8, 9] }

for (const [group, db] of databases.entries())
  testGoldenWorlds(
    db,
    group,
    seeds.filter((_, n) => shares[db.name].includes(n % 10)),
  )
