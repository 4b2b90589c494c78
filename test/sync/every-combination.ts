/** The contract: run on each database, in a file of its own, so that they run side by side. `chosen`: which, by number from 0. */
import { describe, expect, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import type { TestDatabase } from '../support/databases.ts'
import { behaviourCombinations, multiPageSize } from './behaviour-combinations.ts'
import { syncOnce, unexplainedDifferences } from './sync-sandbox.ts'

const lists = ['conversations', 'visitors', 'calls'] as const

export function testEveryCombination(db: TestDatabase, chosen: (n: number) => boolean = () => true): void {
  describe(`whatever the service turns out to do, the mirror is true or says where it is not — ${db.name}`, () => {
    for (const [n, switches] of behaviourCombinations.entries()) {
      if (!chosen(n)) continue
      test(`combination ${n + 1} of ${behaviourCombinations.length}`, async () => {
        const place = await db.make()
        const given = { 'rate.kind': 'off', ...switches } as const
        const sandbox = await startSandbox({ seed: n + 1, size: multiPageSize, switches: given })
        try {
          const warehouse = await place.open()
          const first = await syncOnce(place.url!, sandbox)
          sandbox.setSwitches({ 'move.every': 0, 'stale.ms': 0 })
          sandbox.applyRandomMutations(60, n)
          await syncOnce(place.url!, sandbox)
          // Whatever was late is there now, and the next pass sees it without reading everything again.
          sandbox.setSwitches({ 'late.share': 0 })
          await syncOnce(place.url!, sandbox, { streams: lists })
          const late = (await unexplainedDifferences(warehouse, sandbox, lists)).filter(({ how }) => how === 'missing')
          expect(late.map(({ stream, key }) => `${stream} ${key}`)).toEqual([])
          const last = await syncOnce(place.url!, sandbox, { mode: 'reconcile' })
          expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
          expect(['complete', 'gaps']).toContain(first.outcome)
          expect(last.outcome).toBe(last.gaps.length === 0 ? 'complete' : 'gaps')
        } finally {
          await sandbox.stop()
          await place.drop()
        }
      })
    }
  })
}
