/** Approving, undoing, stopping and resuming batches — in both databases. */

import { describe, expect } from 'vitest'
import { listWithWritebacks } from '../../src/maintenance/sql/projects.ts'
import type { DecisionTerms, OutboxFilter } from '../../src/outbox/core/decision-terms.ts'
import { executeDecision } from '../../src/outbox/decide.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import {
  claimFirst,
  conversation,
  decideRows,
  insertFlag,
  markSending,
  openOutbox,
  project,
  queueFlags,
} from './batch-fixture.ts'

const testOnOne = createTestOnOne('postgres')

const drafts: OutboxFilter = { batch: 'flags', statuses: ['draft'] }
const approve = (admin: Outbox, digest: string, selection: OutboxFilter = { batch: 'flags' }) =>
  executeDecision(admin, 'approved', selection, {
    ...bea,
    shown: { filter: { batch: 'flags' }, digest },
  })

const bea: DecisionTerms = { by: 'bea', graceMs: 60_000 }

for (const database of databases) {
  describe(`an approval — ${database.name}`, () => {
    testOnOne(
      database.name,
      'names exactly what was shown, and is refused with what differs if that has moved',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        const [first] = await queueFlags(admin, 3, { status: 'draft' })
        const shown = await admin.digestOf(drafts)
        expect(shown).toMatchObject({ count: 3 })
        await warehouse.query(
          `update writebacks set payload = '{"handled":false}' where id = '${first}'`,
        )
        await admin.decide('cancelled', { ids: [first!] }, { by: 'carl' })
        expect(await approve(admin, shown.digest)).toMatchObject({
          outcome: 'moved',
          now: { count: 2 },
          counts: { draft: 2, cancelled: 1 },
          steps: [{ writebackId: first, person: 'carl', to: 'cancelled' }, {}, {}, {}],
        })
        expect(await admin.countByStatus({})).toEqual({ draft: 2, cancelled: 1 })
        const { digest } = await admin.digestOf(drafts)
        expect(await approve(admin, digest.slice(0, 12))).toMatchObject({ moved: 2 })
        expect(await admin.findBatch('flags')).toMatchObject({
          approvedBy: 'bea',
          counts: { queued: 2, cancelled: 1 },
        })
      },
    )

    testOnOne(
      database.name,
      'may be of a part of what was shown, as long as all that was shown is still so',
      async () => {
        const { admin } = await openOutbox(database)
        const [first, second] = await queueFlags(admin, 3, { status: 'draft' })
        const { digest } = await admin.digestOf(drafts)
        expect(await approve(admin, digest, { ids: [first!] })).toMatchObject({ moved: 1 })
        expect(await approve(admin, digest, { ids: [second!] })).toMatchObject({ outcome: 'moved' })
      },
    )

    testOnOne(database.name, 'a correction by SQL changes the digest', async () => {
      const { warehouse, admin } = await openOutbox(database)
      await queueFlags(admin, 1, { status: 'draft' })
      const { digest } = await admin.digestOf(drafts)
      await warehouse.query(`update writebacks set payload = '{"handled":false}'`)
      expect(await approve(admin, digest)).toMatchObject({ outcome: 'moved' })
    })

    testOnOne(
      database.name,
      'everything that decides what leaves, and when, changes the digest',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await insertFlag(warehouse, { id: 'a', batch_id: 'flags', status: 'draft' })
        for (const change of [
          `update writebacks set expect = '17'`,
          `update writebacks set expires_at = '2030-01-01T00:00:00Z'`,
          `update writebacks set created_by = 'carl'`,
        ]) {
          const { digest } = await admin.digestOf(drafts)
          await warehouse.query(change)
          expect([change, await approve(admin, digest)]).toMatchObject([
            change,
            { outcome: 'moved' },
          ])
        }
        const { digest } = await admin.digestOf(drafts)
        await warehouse.query('delete from writebacks')
        await insertFlag(warehouse, {
          id: 'a',
          batch_id: 'flags',
          status: 'draft',
          conversation_id: conversation(7),
        })
        expect(await approve(admin, digest)).toMatchObject({ outcome: 'moved' })
        expect(await admin.countByStatus({})).toEqual({ draft: 1 })
      },
    )

    testOnOne(
      database.name,
      'is lost by what is changed after it, also of a row that failed and is tried again',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        const ids = await queueFlags(admin, 8, { status: 'draft' })
        await admin.decide('approved', { batch: 'flags' }, { by: 'bea' })
        const changes = [
          `payload = '{"handled":false}'`,
          `conversation_id = '${conversation(77)}'`,
          `expect = '17'`,
          `expires_at = '2090-01-01T00:00:00Z'`,
          `payload = '{"handled":true}'`,
        ]
        for (const [index, change] of changes.entries())
          await warehouse.query(`update writebacks set ${change} where id = '${ids[index]}'`)
        const failed = `status = 'failed', finished_at = '2026-01-01T00:00:00Z'`
        await warehouse.query(
          `update writebacks set ${failed} where id in ('${ids[5]}', '${ids[6]}')`,
        )
        await warehouse.query(
          `update writebacks set payload = '{"handled":false}' where id = '${ids[6]}'`,
        )
        await admin.decide('retried', { batch: 'flags' }, { by: 'carl', approveOwn: false })
        const found = await warehouse.query(
          'select id, status, reason, approved_by from writebacks order by seq',
        )
        const draft = { status: 'draft', reason: 'changed after its approval', approved_by: null }
        const queued = { status: 'queued', approved_by: 'bea' }
        const expected = [
          draft,
          draft,
          draft,
          draft,
          queued,
          queued,
          { status: 'failed', approved_by: null },
          queued,
        ]
        expect(found).toMatchObject(expected.map((row, index) => ({ id: ids[index], ...row })))
        const events = await warehouse.query(
          `select 1 from writeback_events where to_status = 'draft' and from_status = 'queued'`,
        )
        expect(events).toHaveLength(4)
        const { digest } = await admin.digestOf(drafts)
        expect(await approve(admin, digest)).toMatchObject({ moved: 4 })
      },
    )

    testOnOne(
      database.name,
      'covers what may have left: that can no longer be changed, and then sent again in other words',
      async () => {
        const { warehouse, admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 1, { status: 'draft' })
        await admin.decide('approved', { batch: 'flags' }, { by: 'bea' })
        expect(await markSending(outbox, await claimFirst(outbox))).toBe(true)
        for (const change of [
          `payload = '{"handled":false}'`,
          `conversation_id = '${conversation(77)}'`,
        ])
          await expect(warehouse.query(`update writebacks set ${change}`)).rejects.toThrow(
            'stays as it was sent',
          )
        expect(
          await warehouse.query('select status, approved_by, payload from writebacks'),
        ).toMatchObject([{ status: 'sending', approved_by: 'bea' }])
      },
    )

    testOnOne(
      database.name,
      'takes effect only after its grace, and until then it can be taken back',
      async () => {
        const { admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 2, { status: 'draft' })
        const approved = await decideRows(admin, 'approved', { batch: 'flags' }, bea)
        expect(approved.undoUntil).toBeDefined()
        expect(await outbox.findClaimable(Date.now(), 9)).toEqual([])
        expect(await outbox.hasPending()).toBe(true)
        expect(await outbox.findClaimable(Date.now() + 61_000, 9)).toHaveLength(2)
        expect(await admin.findBatchRest('flags')).toMatchObject({
          why: 'its approval can still be undone',
        })
        const undone = await decideRows(
          admin,
          'approval_undone',
          { approvedBy: ['bea'] },
          { by: 'bea' },
        )
        expect(undone).toMatchObject({ moved: 2, stayed: [] })
        expect(await admin.findBatch('flags')).toMatchObject({
          approvedBy: null,
          approvedAt: null,
          counts: { draft: 2 },
        })
      },
    )

    testOnOne(
      database.name,
      'cannot be taken back after its grace, which says what to do instead',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await queueFlags(admin, 1, { status: 'draft' })
        await decideRows(admin, 'approved', { batch: 'flags' }, bea)
        await warehouse.query('update writebacks set undo_until = 1, due_at = 1')
        const report = await decideRows(admin, 'approval_undone', { batch: 'flags' }, { by: 'bea' })
        expect(report.moved).toBe(0)
        expect(report.stayed[0]?.why).toMatch(/grace .* ended at 1970.* `writeback stop --batch/)
      },
    )

    testOnOne(database.name, 'without a grace it takes effect at once', async () => {
      const { admin, outbox } = await openOutbox(database)
      await queueFlags(admin, 1, { status: 'draft' })
      expect(await decideRows(admin, 'approved', {}, { by: 'bea', graceMs: 0 })).not.toHaveProperty(
        'undoUntil',
      )
      expect(await outbox.findClaimable(Date.now(), 9)).toHaveLength(1)
    })

    testOnOne(
      database.name,
      'may be only of what others queued, also by way of cancelling and retrying',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await queueFlags(admin, 1, { status: 'draft' })
        await insertFlag(warehouse, {
          status: 'draft',
          created_by: 'ann via bi_tool',
          batch_id: 'flags',
        })
        const notOwn = { ...bea, approveOwn: false }
        const own = await decideRows(
          admin,
          'approved',
          { batch: 'flags' },
          { ...notOwn, by: 'ann' },
        )
        expect(own).toMatchObject({ moved: 0, stayed: [{ status: 'draft', count: 2 }] })
        expect(own.stayed[0]?.why).toMatch(/someone else has to approve what you queued/)
        await admin.decide('cancelled', { batch: 'flags' }, { by: 'ann' })
        expect(
          await admin.decide('retried', { batch: 'flags' }, { ...notOwn, by: 'ann' }),
        ).toMatchObject({ count: 0 })
        expect(await admin.decide('retried', { batch: 'flags' }, { by: 'ann' })).toMatchObject({
          count: 2,
        })
      },
    )

    testOnOne(
      database.name,
      'every decision is in the event log with its person, and what no person decided without one',
      async () => {
        const { warehouse, admin, outbox } = await openOutbox(database)
        const [id] = await queueFlags(admin, 1, { status: 'draft' })
        await admin.decide('approved', { ids: [id!] }, { by: 'bea' })
        await admin.decide('cancelled', { ids: [id!] }, { by: 'carl' })
        await admin.decide('retried', { ids: [id!] }, { by: 'carl' })
        expect(await markSending(outbox, await claimFirst(outbox))).toBe(true)
        await admin.revokeSending('DESKMIRROR_READ_ONLY')
        await warehouse.query(`update writebacks set status = 'queued', reason = 'by hand'`)
        const people = (await admin.listEvents(id!)).map(({ to, person }) => [to, person])
        expect(people).toEqual([
          ['draft', null],
          ['queued', 'bea'],
          ['cancelled', 'carl'],
          ['queued', 'carl'],
          ['sending', null],
          ['sending', null],
          ['queued', null],
        ])
        expect(await admin.list({ ids: [id!] }, 1)).toMatchObject([
          { approvedBy: 'bea', decidedBy: 'carl' },
        ])
      },
    )
  })

  describe(`a stop — ${database.name}`, () => {
    testOnOne(
      database.name,
      'keeps back what has not left, and resuming goes on where it was',
      async () => {
        const { admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 3)
        await queueFlags(admin, 2, { status: 'draft' })
        const claimed = await claimFirst(outbox)
        expect(await admin.decideBatch('stopped', 'flags', 'bea')).toEqual({
          moved: 3,
          inFlight: 0,
        })
        expect(await markSending(outbox, claimed)).toBe(false)
        expect(await outbox.findClaimable(Date.now(), 9)).toEqual([])
        expect(await outbox.hasPending()).toBe(false)
        expect(await admin.findBatch('flags')).toMatchObject({
          state: 'stopped',
          stoppedBy: 'bea',
          counts: { draft: 5 },
        })
        expect(await admin.decideBatch('stopped', 'flags', 'carl')).toBeNull()
        expect(await admin.decideBatch('resumed', 'flags', 'carl')).toEqual({
          moved: 3,
          inFlight: 0,
        })
        expect(await admin.findBatch('flags')).toMatchObject({
          stoppedBy: null,
          counts: { draft: 2, queued: 3 },
        })
        expect(await outbox.findClaimable(Date.now(), 9)).toHaveLength(3)
        const steps = (await admin.listEvents(claimed.id)).map(({ to, detail, person }) => [
          to,
          detail,
          person,
        ])
        expect(steps.slice(1)).toEqual([
          ['draft', 'stopped by bea', 'bea'],
          ['queued', 'resumed by carl', 'carl'],
        ])
      },
    )

    testOnOne(
      database.name,
      'leaves an approval its grace, which neither it nor a resumption ends',
      async () => {
        const { admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 2, { status: 'draft' })
        await admin.decide('approved', { batch: 'flags' }, bea)
        await admin.decideBatch('stopped', 'flags', 'carl')
        expect(await admin.decide('approval_undone', { batch: 'flags' }, bea)).toMatchObject({
          count: 0,
        })
        await admin.decideBatch('resumed', 'flags', 'carl')
        expect(await outbox.findClaimable(Date.now(), 9)).toEqual([])
        expect(await outbox.findClaimable(Date.now() + 61_000, 9)).toHaveLength(2)
        expect(await admin.decide('approval_undone', { batch: 'flags' }, bea)).toMatchObject({
          count: 2,
        })
      },
    )

    testOnOne(database.name, 'is in force before its rows follow, as is a resumption', async () => {
      const { warehouse, admin, outbox } = await openOutbox(database)
      await queueFlags(admin, 3)
      const claimed = await claimFirst(outbox)
      await warehouse.query(
        `update writeback_batches set stopped_at = '2026-01-01T00:00:00Z', stopped_by = 'bea', done_to = 0, done_by = 'bea'`,
      )
      expect(await markSending(outbox, claimed)).toBe(false)
      expect(await admin.countByStatus({})).toEqual({ draft: 3 })
      expect(await admin.list({ statuses: ['draft'] }, 9)).toHaveLength(3)
      expect(await outbox.findClaimable(Date.now(), 9)).toEqual([])
      expect(await warehouse.query('select distinct status, stopped_by from writebacks')).toEqual([
        { status: 'draft', stopped_by: 'bea' },
      ])
      await warehouse.query(
        'update writeback_batches set stopped_at = null, stopped_by = null, done_to = 0',
      )
      expect(await admin.countByStatus({})).toEqual({ queued: 3 })
      expect(await listWithWritebacks(warehouse.db)).toHaveLength(1)
      expect(await outbox.findClaimable(Date.now(), 9)).toHaveLength(3)
      expect(await warehouse.query('select done_to from writeback_batches')).toEqual([
        { done_to: null },
      ])
    })

    testOnOne(
      database.name,
      'covers rows that are inserted into the batch later, and nothing of other batches',
      async () => {
        const { warehouse, admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 1)
        await admin.decideBatch('stopped', 'flags', 'bea')
        await insertFlag(warehouse, { batch_id: 'flags' })
        await queueFlags(admin, 1, { batchId: 'other' })
        const others = await warehouse.query("select id from writebacks where batch_id = 'other'")
        expect(await outbox.findClaimable(Date.now(), 9)).toMatchObject(others)
        expect(await admin.findBatch('flags')).toMatchObject({ rows: 2, counts: { draft: 2 } })
      },
    )

    testOnOne(
      database.name,
      'a send that was not carried out goes back to draft, and one that was keeps its outcome',
      async () => {
        const { admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 2)
        const [one, other] = [await claimFirst(outbox), await claimFirst(outbox)]
        for (const writeback of [one, other])
          expect(await markSending(outbox, writeback)).toBe(true)
        expect(await admin.decideBatch('stopped', 'flags', 'bea')).toEqual({
          moved: 0,
          inFlight: 2,
        })
        expect(await outbox.settleSent(one, { event: 'not_sent', why: '429' })).toBe('draft')
        expect(await outbox.settleSent(other, { event: 'accepted', why: '200' })).toBe('succeeded')
        expect(await admin.list({ ids: [one.id] }, 1)).toMatchObject([
          { reason: '429; stopped by bea', stoppedBy: 'bea', attempts: 0 },
        ])
        await admin.decideBatch('resumed', 'flags', 'bea')
        expect(await admin.findBatch('flags')).toMatchObject({
          counts: { queued: 1, succeeded: 1 },
        })
      },
    )

    testOnOne(
      database.name,
      'its drafts can be cancelled, but not approved or retried',
      async () => {
        const { admin } = await openOutbox(database)
        const [first, second] = await queueFlags(admin, 2)
        await queueFlags(admin, 1, { status: 'draft' })
        await admin.decideBatch('stopped', 'flags', 'bea')
        const approval = await decideRows(admin, 'approved', { batch: 'flags' }, { by: 'bea' })
        expect(approval).toMatchObject({ moved: 0, stayed: [{ status: 'draft', count: 3 }] })
        expect(approval.stayed[0]?.why).toMatch(
          /the batch was stopped by bea: `writeback resume --batch flags`/,
        )
        await admin.decide('cancelled', { ids: [first!] }, { by: 'bea' })
        expect(await admin.decide('retried', { ids: [first!] }, { by: 'bea' })).toMatchObject({
          count: 0,
        })
        expect(await admin.decideBatch('resumed', 'flags', 'bea')).toMatchObject({ moved: 1 })
        expect(await admin.list({ statuses: ['queued'] }, 9)).toMatchObject([{ id: second }])
        expect(await admin.findBatch('flags')).toMatchObject({
          counts: { queued: 1, draft: 1, cancelled: 1 },
        })
      },
    )

    testOnOne(database.name, 'of a batch of which nothing is queued changes nothing', async () => {
      const { admin } = await openOutbox(database)
      await queueFlags(admin, 1, { status: 'draft' })
      expect(await admin.decideBatch('stopped', 'flags', 'bea')).toBeNull()
      expect(await admin.findBatch('flags')).toMatchObject({ stoppedAt: null, state: 'draft' })
    })

    testOnOne(
      database.name,
      'each concurrent send is either recorded before it or rejected',
      async () => {
        const { place, admin, outbox } = await openOutbox(database)
        await queueFlags(admin, 60)
        const claimed = []
        for (const { id } of await outbox.findClaimable(Date.now(), 60))
          claimed.push((await outbox.claim(id, Date.now()))!)
        const person = createOutbox((await place.open()).projectDb(project))
        const leaving = claimed.map((writeback) => markSending(outbox, writeback))
        await leaving[0]
        const stopped = await person.decideBatch('stopped', 'flags', 'bea')
        const left = (await Promise.all(leaving)).filter(Boolean).length
        expect(stopped).toEqual({ moved: 60 - left, inFlight: left })
        expect((await admin.findBatch('flags'))?.counts).toEqual({
          sending: left,
          ...(left < 60 ? { draft: 60 - left } : {}),
        })
      },
    )

    testOnOne(
      database.name,
      '2,100 rows follow in windows, each with its line in the event log',
      async () => {
        const { warehouse, admin } = await openOutbox(database)
        await queueFlags(admin, 2100)
        expect(await admin.decideBatch('stopped', 'flags', 'bea')).toEqual({
          moved: 2100,
          inFlight: 0,
        })
        expect(await admin.decideBatch('resumed', 'flags', 'bea')).toEqual({
          moved: 2100,
          inFlight: 0,
        })
        const steps =
          'select detail, count(*) as rows from writeback_events where detail is not null group by detail order by detail'
        expect(await warehouse.query(steps)).toEqual([
          { detail: 'resumed by bea', rows: 2100 },
          { detail: 'stopped by bea', rows: 2100 },
        ])
      },
    )
  })
}
