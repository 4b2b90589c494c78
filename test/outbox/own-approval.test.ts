/** Whose rows a person may approve, and what an approval is of — in both databases. */
import { describe, expect, test } from 'vitest'
import { parsePersonName } from '../../src/config/people.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { flag, openOutbox, queueFlags } from './batch-fixture.ts'

const testOnOne = createTestOnOne('postgres')

const bea = { by: 'bea', graceMs: 60_000 }

test('names that look alike are the same name or none', () => {
  expect(parsePersonName(' Ann\u00a0\u2003Lee ')).toBe('Ann Lee')
  for (const invisible of ['\u3164', '\u115f', '\u034f', '\ufe0f', '\u200b', '\u{e0041}'])
    expect(parsePersonName(`Ann${invisible}`)).toBeUndefined()
})

for (const database of databases) {
  describe(`an approval — ${database.name}`, () => {
    for (const [queuedBy, approves] of [
      ['ann', 'Ann'],
      ['Ann via bi_tool', 'ann'],
      ['Änne␛', 'Änne␛'],
      ['Ünal', 'ünal'],
      ['ÜNAL via bi_tool', 'Ünal'],
      ['STRASSER', 'Straßer'],
    ])
      testOnOne(database.name, `${approves} does not approve what ${queuedBy} queued`, async () => {
        const { admin } = await openOutbox(database)
        await queueFlags(admin, 1, { status: 'draft', createdBy: queuedBy! })
        await queueFlags(admin, 1, { status: 'draft', createdBy: `${queuedBy}a` })
        const notOwn = { by: approves!, approveOwn: false }
        expect(await admin.decide('approved', {}, notOwn)).toMatchObject({
          count: queuedBy?.includes(' via ') ? 0 : 1,
        })
      })

    testOnOne(
      database.name,
      'is of one version of a row: a correction needs its own, and its approval can be taken back',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        const [approved, unapproved] = ['draft', 'queued'] as const
        for (const status of [approved, unapproved]) {
          await queueFlags(admin, 1, { status, batchId: status })
          await admin.decide('approved', { batch: status }, { by: 'bea' })
        }
        await warehouse.query(
          `update writebacks set status = 'failed', attempts = 1, sent_at = '2026-01-01T00:00:00Z', ref = batch_id`,
        )
        const options = {
          status: 'draft',
          batchId: 'corrected',
          createdBy: 'ann',
          expiresAt: null,
        } as const
        await admin.enqueue([[flag(1, { ref: approved }), flag(2, { ref: unapproved })]], options)
        const ann = { by: 'ann', approveOwn: false }
        await admin.decide('cancelled', { batch: 'corrected' }, ann)
        expect(await admin.decide('retried', { batch: 'corrected' }, ann)).toMatchObject({
          count: 0,
        })
        await warehouse.query(`update writebacks set status = 'draft'`)
        expect(await admin.decide('approved', { batch: 'corrected' }, bea)).toMatchObject({
          count: 2,
        })
        expect(await admin.decide('approval_undone', { batch: 'corrected' }, bea)).toMatchObject({
          count: 2,
        })
      },
    )
  })
}
