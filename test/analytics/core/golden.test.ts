/**
 * Facts derived from the rows of random worlds are those of an independent naive model, row by row.
 */
import { expect, test } from 'vitest'
import { findDifferences } from '../../support/analytics-model/compare.ts'
import { deriveFacts } from '../../support/analytics-model/derive-facts.ts'
import { deriveModelTables } from '../../support/analytics-model/model.ts'
import { mutateWorld } from '../../support/analytics-model/mutations.ts'
import { randomWorld } from '../../support/analytics-model/random-world.ts'
import type { ProjectRows } from '../../support/analytics-model/raw-rows.ts'
import { sampledCount } from '../../support/sampled.ts'

const worlds = sampledCount(50, 1000)
const firstSeed = Number(process.env['SEED'] ?? 1)

test(`the facts of ${worlds} random worlds, from seed ${firstSeed} on, are those of the model`, () => {
  const seeds = Array.from({ length: worlds }, (_, n) => firstSeed + n)
  const differences = seeds.flatMap((seed) => randomWorld(seed).projects.flatMap(compareProject))
  expect(differences.slice(0, 5)).toEqual([])
})

test('they are the same whatever the order of conversations and messages', () => {
  const mutated = mutateWorld(randomWorld(firstSeed), 1).world
  for (const rows of mutated.projects) {
    const reversed = {
      ...rows,
      conversations: rows.conversations.toReversed(),
      messages: rows.messages.toReversed(),
    }
    expect(compareProject(reversed)).toEqual([])
  }
})

function compareProject(rows: ProjectRows): string[] {
  const expected = deriveModelTables(rows)
  const derived = deriveFacts(rows)
  return Object.keys(expected).flatMap((name) => {
    const table = name as keyof typeof expected
    return findDifferences(`${rows.project}: ${table}`, expected[table], derived[table])
  })
}
