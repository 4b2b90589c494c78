/** Unusual rows: those that can be stored are stored, and every other row is a gap. */
import { describe, expect, test } from 'vitest'
import { databases } from '../../support/databases.ts'
import { findDifferences, unexplainedDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 40, visitors: 40, calls: 40, days: 3 }
const size = { ...lists, messagesPerConversation: [1, 4], activityPerVisitor: [0, 3] } as const

const reasons = [
  /^row [\da-f-]{36} could not be stored: it is nested more than 1000 levels deep$/,
  /^row [\da-f-]{36} could not be stored: it has more than 100000 values$/,
  /^row x{60}… \(5000 characters\) could not be stored: its id is too long$/,
  /^row [\da-f-]{36} could not be stored: it belongs to another project \([\da-f-]{36}\)$/,
  /^a row without a readable id could not be stored: it is not a JSON object$/,
].map((reason) => expect.stringMatching(reason))

for (const db of databases) {
  describe(`hostile rows — ${db.name}`, () => {
    // What cannot be stored reaches no database.
    for (const kind of db.name === 'sqlite' ? (['odd', 'unfit'] as const) : (['odd'] as const)) {
      test(`${kind} rows: every row that can be stored is stored, and every other one is a gap`, async () => {
        const options = { seed: 3, size, switches: { 'rows.hostile': kind }, db }
        await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
          const first = await sync()
          const again = await sync({ mode: 'reconcile' })
          if (kind === 'odd') expect(await findDifferences(warehouse, sandbox)).toEqual([])
          expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
          expect([first.outcome, again.outcome]).toEqual(
            kind === 'odd' ? ['complete', 'complete'] : ['gaps', 'gaps'],
          )
          const found = again.gaps.map(({ reason }) => reason)
          if (kind === 'unfit') expect(found).toEqual(expect.arrayContaining(reasons))
        })
      })
    }
  })
}
