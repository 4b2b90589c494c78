/**
 * Random worlds that arrive by commits in a random order: for the tests and their longer version.
 */

import { expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import {
  arrivalsOf,
  deletionsOf,
  withoutDeletedRows,
} from '../../support/analytics-model/commit-rows.ts'
import { mergedSteps } from '../../support/analytics-model/merged-world.ts'
import { seededChoices } from '../../support/analytics-model/random-choices.ts'
import { storeFirstRun } from '../../support/analytics-model/store-rows.ts'
import {
  expectedOf,
  findWarehouseDifferences,
} from '../../support/analytics-model/warehouse-differences.ts'
import type { TestDatabase } from '../../support/databases.ts'
import { factsOf } from './golden-worlds.ts'

const timeoutMs = 300_000

export function testGoldenCommits(db: TestDatabase, seeds: readonly number[]): void {
  test(
    `the rows of worlds ${seeds.join(', ')} arrive by commits in a random order (${db.name})`,
    async () => {
      const [seed = 0] = seeds
      const projects = (mergedSteps(seed % 3, seeds, 2).at(-1)?.projects ?? []).map(
        withoutDeletedRows,
      )
      const database = await db.make()
      onTestFinished(() => database.drop())
      const warehouse = await database.open()
      await storeFirstRun(warehouse, projects)
      const random = seededChoices(seed)
      for (const rows of projects) {
        const facts = factsOf(warehouse, rows)
        const mirror = openMirror(warehouse, rows.project)
        for (const arrive of arrivalsOf(rows, mirror, random)) {
          await arrive()
          if (random.chance(0.1)) await facts.refresh()
        }
        await facts.refresh()
        for (const remove of deletionsOf(rows, mirror)) await remove()
        await facts.refresh()
      }
      expect((await findWarehouseDifferences(warehouse, expectedOf(projects))).slice(0, 6)).toEqual(
        [],
      )
    },
    timeoutMs,
  )
}
