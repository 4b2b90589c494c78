/** Worlds that nobody thought of: any size, any manners of the service, any changes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { databases } from '../support/databases.ts'
import { undocumentedBehaviours } from './behaviour-combinations.ts'
import { syncOnce, unexplainedDifferences } from './sync-sandbox.ts'

/** Any value of any switch, storms apart: they need more rows than these worlds have. */
const behaviours = fc.record(
  Object.fromEntries(
    Object.entries(undocumentedBehaviours)
      .filter(([name]) => !name.startsWith('storm.'))
      .map(([name, values]) => [name, fc.constantFrom(...(values as readonly unknown[]))]),
  ),
) as fc.Arbitrary<Partial<Switches>>

const sizes = fc.record({
  conversations: fc.oneof(
    { weight: 9, arbitrary: fc.nat(25) },
    { weight: 1, arbitrary: fc.integer({ min: 190, max: 230 }) },
  ),
  visitors: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 20 }) },
    { weight: 1, arbitrary: fc.constant(205) },
  ),
  calls: fc.oneof({ weight: 9, arbitrary: fc.nat(15) }, { weight: 1, arbitrary: fc.integer({ min: 195, max: 210 }) }),
  messagesPerConversation: fc.constantFrom([0, 3], [1, 8], [40, 60], [1, 1]) as fc.Arbitrary<[number, number]>,
  activityPerVisitor: fc.constantFrom([0, 0], [0, 5]) as fc.Arbitrary<[number, number]>,
  days: fc.integer({ min: 1, max: 5 }),
})

const [sqlite] = databases

/** In the title, so that every run says which worlds it tried. */
const seed = Date.now() % 2 ** 31

export function testRandomServices(count: number): void {
  test(
    `${count} random worlds, changed at random between the passes, are mirrored true (seed ${seed})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(1e6), sizes, behaviours, fc.nat(40), async (past, size, switches, changes) => {
          const place = await sqlite!.make()
          const sandbox = await startSandbox({ seed: past, size, switches: { 'rate.kind': 'off', ...switches } })
          try {
            const warehouse = await place.open()
            await syncOnce(place.url!, sandbox)
            sandbox.setSwitches({ 'move.every': 0, 'stale.ms': 0 })
            sandbox.applyRandomMutations(changes, past)
            await syncOnce(place.url!, sandbox)
            sandbox.setSwitches({ 'late.share': 0 })
            const last = await syncOnce(place.url!, sandbox, { mode: 'reconcile' })
            expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
            expect(last.outcome).toBe(last.gaps.length === 0 ? 'complete' : 'gaps')
          } finally {
            await sandbox.stop()
            await place.drop()
          }
        }),
        { numRuns: count, seed },
      )
    },
    count * 6000,
  )
}
