/** Rows that nobody expects: what can be stored is stored, and all else is stated, row by row. */
import { describe, expect, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { databases } from '../support/databases.ts'
import { findDifferences, syncOnce, unexplainedDifferences } from './sync-sandbox.ts'

const size = {
  conversations: 80,
  visitors: 80,
  calls: 80,
  messagesPerConversation: [1, 4],
  activityPerVisitor: [0, 3],
  days: 3,
} as const

const reasons = [
  /^row [\da-f-]{36} could not be stored: it is nested more than 1000 levels deep$/,
  /^row [\da-f-]{36} could not be stored: it has more than 100000 values$/,
  /^row x{60}… \(5000 characters\) could not be stored: its id is too long$/,
  /^row [\da-f-]{36} could not be stored: it belongs to another project \([\da-f-]{36}\)$/,
  /^a row without a readable id could not be stored: it is not a JSON object$/,
].map((reason) => expect.stringMatching(reason))

for (const db of databases.filter(({ name }) => name !== 'pglite')) {
  describe(`hostile rows — ${db.name}`, () => {
    for (const kind of ['odd', 'unfit'] as const) {
      test(`${kind} ones: every row that can be stored is, and every other is a gap`, async () => {
        const place = await db.make()
        const sandbox = await startSandbox({ seed: 3, size, switches: { 'rate.kind': 'off', 'rows.hostile': kind } })
        try {
          const warehouse = await place.open()
          const first = await syncOnce(place.url!, sandbox)
          const again = await syncOnce(place.url!, sandbox, { mode: 'reconcile' })
          if (kind === 'odd') expect(await findDifferences(warehouse, sandbox)).toEqual([])
          expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
          expect([first.outcome, again.outcome]).toEqual(kind === 'odd' ? ['complete', 'complete'] : ['gaps', 'gaps'])
          if (kind === 'unfit') expect(again.gaps.map(({ reason }) => reason)).toEqual(expect.arrayContaining(reasons))
        } finally {
          await sandbox.stop()
          await place.drop()
        }
      })
    }
  })
}
