/** Random services: any size, any behaviour, any changes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { undocumentedBehaviours } from './behaviour-combinations.ts'
import { unexplainedDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

/** Any value of any switch except `storm.*`, which need more rows than these services have. */
const behaviours = fc.record(
  Object.fromEntries(
    Object.entries(undocumentedBehaviours)
      .filter(([name]) => !name.startsWith('storm.'))
      .map(([name, values]) => [name, fc.constantFrom(...(values as readonly unknown[]))]),
  ),
) as fc.Arbitrary<Partial<Switches>>

function mostly(usual: fc.Arbitrary<number>, rare: fc.Arbitrary<number>) {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: rare })
}

const sizes = fc.record({
  conversations: mostly(fc.nat(25), fc.integer({ min: 190, max: 230 })),
  visitors: mostly(fc.integer({ min: 1, max: 20 }), fc.constant(205)),
  calls: mostly(fc.nat(15), fc.integer({ min: 195, max: 210 })),
  messagesPerConversation: fc.constantFrom([0, 3], [1, 8], [40, 60], [1, 1]) as fc.Arbitrary<
    [number, number]
  >,
  activityPerVisitor: fc.constantFrom([0, 0], [0, 5]) as fc.Arbitrary<[number, number]>,
  days: fc.integer({ min: 1, max: 5 }),
})

/** In the test's title, so that a failed run can be repeated. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

export function testRandomServices(count: number): void {
  test(
    `${count} random services with random changes between the runs are mirrored correctly (seed ${seed})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(1e6),
          sizes,
          behaviours,
          fc.nat(40),
          async (sandboxSeed, size, switches, changes) => {
            await withSandbox(
              { seed: sandboxSeed, size, switches },
              async ({ sandbox, warehouse, sync }) => {
                await sync()
                sandbox.setSwitches({ 'move.every': 0, 'stale.ms': 0 })
                sandbox.applyRandomMutations(changes, sandboxSeed)
                await sync()
                sandbox.setSwitches({ 'late.share': 0 })
                const last = await sync({ mode: 'reconcile' })
                expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
                expect(last.outcome).toBe(last.gaps.length === 0 ? 'complete' : 'gaps')
              },
            )
          },
        ),
        // Shrinking would exceed the timeout, and then not even the counterexample would be
        // printed.
        { numRuns: count, seed, endOnFailure: true },
      )
    },
    240_000 + count * 6000,
  )
}
