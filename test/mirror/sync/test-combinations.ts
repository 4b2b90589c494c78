/**
 * The tests of combinations, for one database per file so that the files run concurrently.
 * `chosen`: numbers from 0. `size` and `switches`: of the service.
 */
import { describe, expect, test } from 'vitest'
import type { TestDatabase } from '../../support/databases.ts'
import { behaviourCombinations, type Combination, sizeOf } from './behaviour-combinations.ts'
import { unexplainedDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = ['conversations', 'visitors', 'calls'] as const

export function testCombinations(
  db: TestDatabase,
  chosen: readonly number[],
  size: (combination: Combination) => object = sizeOf,
  switchesOf = ({ switches }: Combination) => switches,
): void {
  describe(`however the service behaves, the mirror is correct or has a gap — ${db.name}`, () => {
    for (const n of chosen) {
      const combination = behaviourCombinations[n]!
      test(`combination ${n + 1} of ${behaviourCombinations.length}`, async () => {
        const switches = switchesOf(combination)
        const options = { seed: n + 1, size: size(combination), switches, db }
        await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
          const first = await sync()
          sandbox.setSwitches({ 'move.every': 0, 'stale.ms': 0 })
          sandbox.applyRandomMutations(60, n)
          await sync()
          // All late rows exist now, and the next run finds them without reading everything again.
          sandbox.setSwitches({ 'late.share': 0 })
          await sync({ streams: lists })
          const differences = await unexplainedDifferences(warehouse, sandbox, lists)
          const missing = differences.filter(({ how }) => how === 'missing')
          expect(missing.map(({ stream, key }) => `${stream} ${key}`)).toEqual([])
          const last = await sync({ mode: 'reconcile' })
          expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
          expect(['complete', 'gaps']).toContain(first.outcome)
          expect(last.outcome).toBe(last.gaps.length === 0 ? 'complete' : 'gaps')
        })
      })
    }
  })
}
