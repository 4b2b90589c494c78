/** Batches: how they come into being, count their rows and are found — in both databases. */

import { describe, expect } from 'vitest'
import { requireBatch } from '../../src/outbox/decide.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import {
  claimFirst,
  conversation,
  flag,
  insertFlag,
  openOutbox,
  queueFlags,
} from './batch-fixture.ts'

const testOnOne = createTestOnOne()

for (const database of databases) {
  describe(`batches — ${database.name}`, () => {
    testOnOne(
      database.name,
      'rows with a batch_id of their own have a batch, which counts them',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await insertFlag(warehouse, { batch_id: 'nightly', created_by: 'bi' })
        await insertFlag(warehouse, { batch_id: 'nightly', created_by: 'cron', status: 'draft' })
        await insertFlag(warehouse, { batch_id: null })
        const counted = {
          id: 'nightly',
          title: null,
          rows: 2,
          createdBy: 'bi',
          counts: { queued: 1, draft: 1 },
        }
        expect(await admin.listBatches(10)).toMatchObject([counted])
        await warehouse.query(`update writebacks set batch_id = 'other' where status = 'draft'`)
        expect(await admin.findBatch('nightly')).toMatchObject({ rows: 1 })
        expect(await admin.findBatch('other')).toMatchObject({
          rows: 1,
          createdBy: 'cron',
          state: 'draft',
        })
        await warehouse.query(`delete from writebacks where batch_id = 'other'`)
        expect(await admin.findBatch('other')).toMatchObject({ rows: 0 })
      },
    )

    testOnOne(
      database.name,
      'a row inserted by SQL cannot claim that it was approved',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await insertFlag(warehouse, {
          approved_by: 'boss',
          decided_by: 'boss',
          undo_until: '99999999999999',
        })
        expect(await admin.list({}, 1)).toMatchObject([
          { approvedBy: null, decidedBy: null, undoUntil: null },
        ])
      },
    )

    testOnOne(
      database.name,
      'the batches of rows without a project move to the only project with them',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await insertFlag(warehouse, { project_id: '', batch_id: 'nightly' })
        await admin.assignProject()
        expect(await admin.listBatches(10)).toMatchObject([
          { id: 'nightly', rows: 1, counts: { queued: 1 } },
        ])
        expect(
          await warehouse.query(`select 1 from writeback_batches where project_id = ''`),
        ).toEqual([])
      },
    )

    testOnOne(
      database.name,
      'an import says what its batch is; one whose refs are all known leaves no batch',
      async () => {
        const { admin } = await openOutbox(database)
        const batch = { title: 'Late orders', source: 'orders.csv', note: 'see #12', reverts: null }
        await queueFlags(admin, 2, { batch })
        expect(await admin.findBatch('flags')).toMatchObject({
          ...batch,
          rows: 2,
          createdBy: 'ann',
          state: 'sending',
        })
        const [first] = await admin.list({}, 1)
        const options = {
          status: 'queued',
          batchId: 'second',
          createdBy: 'ann',
          expiresAt: null,
        } as const
        expect(await admin.enqueue([[flag(0, { ref: first!.ref })]], options)).toMatchObject({
          queued: 0,
          alreadyQueued: 1,
        })
        expect(await admin.findBatch('second')).toBeNull()
      },
    )

    testOnOne(database.name, 'a corrected row belongs to the batch of its correction', async () => {
      const { warehouse, admin } = await openOutbox(database)
      const [id] = await queueFlags(admin, 1)
      await warehouse.query(
        `update writebacks set status = 'failed', ref = 'r1' where id = '${id}'`,
      )
      const options = {
        status: 'queued',
        batchId: 'corrected',
        createdBy: 'ann',
        expiresAt: null,
      } as const
      await admin.enqueue([[flag(0, { ref: 'r1' })]], options)
      expect(await admin.findBatch('flags')).toMatchObject({ rows: 0 })
      expect(await admin.findBatch('corrected')).toMatchObject({ rows: 1, counts: { queued: 1 } })
    })

    testOnOne(
      database.name,
      'a file whose rows were all corrected by another one is not imported again',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        const [first, second] = ['0123456789ab', 'ba9876543210']
        const options = { status: 'queued', createdBy: 'ann', expiresAt: null } as const
        await admin.enqueue([[flag(0)]], { ...options, batchId: `first-${first}` }, first)
        await warehouse.query(`update writebacks set status = 'failed', ref = 'r1'`)
        await admin.enqueue(
          [[flag(0, { ref: 'r1' })]],
          { ...options, batchId: `second-${second}` },
          second,
        )
        const again = await admin.enqueue(
          [[flag(0)]],
          { ...options, batchId: `renamed-${first}` },
          first,
        )
        expect(again).toEqual({ importedAs: `first-${first}` })
      },
    )

    testOnOne(database.name, 'they are listed page by page, the newest first', async () => {
      const { admin } = await openOutbox(database)
      for (const batchId of ['a', 'b', 'c']) await queueFlags(admin, 1, { batchId })
      const first = await admin.listBatches(2)
      const rest = await admin.listBatches(2, first[1])
      expect([...first, ...rest].map(({ id }) => id)).toEqual(['c', 'b', 'a'])
    })

    testOnOne(
      database.name,
      'a name that does not exist is an error with what is near it; a unique beginning is enough',
      async () => {
        const { admin } = await openOutbox(database)
        await queueFlags(admin, 1, { batchId: 'replies-0123456789ab' })
        await queueFlags(admin, 1, { batchId: 'refunds-ba9876543210' })
        expect(await requireBatch(admin, 'repl')).toMatchObject({ id: 'replies-0123456789ab' })
        const near = { exitCode: 2, next: 'write replies-0123456789ab' }
        await expect(requireBatch(admin, 'replys-0123456789ab')).rejects.toMatchObject(near)
        await expect(requireBatch(admin, 're')).rejects.toMatchObject({
          why: 'several batches begin with re',
        })
      },
    )

    testOnOne(
      database.name,
      'a batch is finished when its last write-back is settled, and open again after a retry',
      async () => {
        const { warehouse, admin, outbox } = await openOutbox(database)
        const [first, second] = await queueFlags(admin, 2)
        const settle = (id: string) =>
          warehouse.query(
            `update writebacks set status = 'failed', finished_at = '2026-01-02T00:00:00Z' where id = '${id}'`,
          )
        await settle(first!)
        await outbox.recordFinishedBatches()
        expect(await admin.findBatch('flags')).toMatchObject({ finishedAt: null, state: 'sending' })
        await settle(second!)
        expect(await admin.findBatch('flags')).toMatchObject({
          finishedAt: '2026-01-02T00:00:00Z',
          state: 'done',
        })
        await outbox.recordFinishedBatches()
        const stored = () => warehouse.query('select finished_at from writeback_batches')
        expect(await stored()).toEqual([{ finished_at: '2026-01-02T00:00:00Z' }])
        await admin.decide('retried', { ids: [first!] }, { by: 'ann' })
        expect(await stored()).toEqual([{ finished_at: null }])
      },
    )

    testOnOne(database.name, 'reasons that differ only in ids are one reason', async () => {
      const { warehouse, admin } = await openOutbox(database)
      const ids = await queueFlags(admin, 3)
      for (const [n, id] of ids.entries())
        await warehouse.query(`update writebacks set status = 'failed',
          error = 'the service answered 404: no message ${10 ** n} in ${conversation(n)}' where id = '${id}'`)
      const reason = 'the service answered 404: no message … in …'
      expect(await admin.groupReasons({ batch: 'flags' })).toEqual([
        { status: 'failed', reason, count: 3, example: ids.toSorted()[0] },
      ])
    })

    testOnOne(
      database.name,
      'what a person queued has no reason, and what was tried in vain has one',
      async () => {
        const { warehouse, admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 2, { status: 'draft' })
        await admin.decide('approved', { batch: 'flags' }, { by: 'ann' })
        // Whatever the sentence says.
        await warehouse.query("update writebacks set reason = 'released by ann'")
        expect(await admin.groupReasons({ batch: 'flags' })).toEqual([])
        const claimed = await claimFirst(outbox)
        const why = 'approved by nobody, as the service is away'
        await outbox.release(claimed, { dueAt: null, why })
        expect(await admin.groupReasons({ batch: 'flags' })).toEqual([
          { status: 'queued', reason: why, count: 1, example: claimed.id },
        ])
        await admin.decide('cancelled', { ids: [claimed.id] }, { by: 'ann' })
        await admin.decide('retried', { ids: [claimed.id] }, { by: 'ann' })
        expect(await admin.groupReasons({ batch: 'flags' })).toEqual([])
      },
    )
  })
}
