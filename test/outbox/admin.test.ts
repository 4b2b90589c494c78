/** Outbox on each database: id prefixes, duplicate refs, rows inserted by SQL, and expiry. */

import { describe, expect, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { decideRows } from './batch-fixture.ts'

const project = '4275aaa4-dbe0-4a36-ae44-c66fe62af552'
const target = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'

type OutboxUnderTest = {
  readonly warehouse: Warehouse
  readonly admin: Outbox
  readonly place: DatabaseInstance
}

/** Inserts by SQL, as a BI tool does. */
function insert({ warehouse }: OutboxUnderTest, row: Readonly<Record<string, string>>) {
  const all = { operation: 'handled', conversation_id: target, payload: '{"handled":true}', ...row }
  const values = Object.values(all).map((value) => `'${value}'`)
  return warehouse.query(
    `insert into writebacks (${Object.keys(all).join(', ')}) values (${values.join(', ')})`,
  )
}

function settle({ warehouse }: OutboxUnderTest, id: string, status: string) {
  return warehouse.query(`update writebacks set status = '${status}' where id = '${id}'`)
}

for (const database of databases) {
  describe(`the queue — ${database.name}`, () => {
    const queue = async (atEnd: (work: () => Promise<void>) => void): Promise<OutboxUnderTest> => {
      const place = await database.make()
      atEnd(() => place.drop())
      const warehouse = await place.open()
      return { place, warehouse, admin: createOutbox(warehouse.projectDb(project)) }
    }

    test('an id or a unique prefix selects a row, whatever characters it contains', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      for (const id of ['row', 'row_1', 'rowa1', '50%', '50\\x']) await insert(q, { id })
      await q.admin.assignProject()
      expect(await q.admin.findIds('row')).toEqual(['row'])
      expect(await q.admin.findIds('row_')).toEqual(['row_1'])
      expect(await q.admin.findIds('50%')).toEqual(['50%'])
      expect(await q.admin.findIds('50\\')).toEqual(['50\\x'])
      expect(await q.admin.findIds('5')).toHaveLength(2)
      expect(await q.admin.findIds('')).toEqual([])
      expect(
        (await decideRows(q.admin, 'cancelled', { ids: ['row'] }, { by: 'a test' })).ids,
      ).toEqual(['row'])
      for (const ids of [['rowa', '5'], ['rowa', 'nothing'], ['']])
        await expect(
          decideRows(q.admin, 'cancelled', { ids }, { by: 'a test' }),
        ).rejects.toMatchObject({
          exitCode: 2,
        })
      expect(await q.admin.countByStatus({})).toEqual({ queued: 4, cancelled: 1 })
    })

    test('a row whose response a process awaits is not resolved, and says so', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      await insert(q, { id: 'a' })
      await q.admin.assignProject()
      await q.warehouse.query(
        `update writebacks set status = 'sending', owner = 'a process' where id = 'a'`,
      )
      for (const approveOwn of [true, false])
        expect(
          await decideRows(q.admin, 'arrived', { ids: ['a'] }, { by: 'a test', approveOwn }),
        ).toMatchObject({
          moved: 0,
          stayed: [
            {
              id: 'a',
              status: 'sending',
              why: expect.stringContaining('a process waits for the response'),
            },
          ],
        })
    })

    test('a row inserted by SQL is assigned once; a ref or an id that was queued before has no effect', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      await insert(q, { id: 'a', ref: 'order-1' })
      expect(await q.admin.assignProject()).toBe(1)
      await insert(q, { id: 'b', ref: 'order-1' })
      await insert(q, { id: 'a', ref: 'order-2' })
      await insert(q, { id: 'c', ref: 'order-3' })
      await q.admin.assignProject()
      expect(await q.admin.list({}, 10)).toMatchObject([
        { id: 'a', status: 'queued', ref: 'order-1' },
        { id: 'b', status: 'cancelled', ref: null, error: 'its ref was queued before' },
        { id: 'c', status: 'queued', ref: 'order-3' },
      ])
      expect(await q.admin.listNewest({}, 2)).toMatchObject([{ id: 'c' }, { id: 'b' }])
      expect((await q.admin.listEvents('b')).map(({ to }) => to)).toEqual(['queued', 'cancelled'])
    })

    test('what an insert says of columns that are not its own has no effect', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      await insert(q, { id: 'first' })
      const own = {
        erased_at: '2026-01-01T00:00:00Z',
        revoked_as: 'cancelled',
        seq: '9223372036854775807',
        lane: 'x',
      }
      await insert(q, { id: 'second', ...own })
      await insert(q, { id: 'third', seq: '-5' })
      expect(
        await q.warehouse.query(
          'select id, seq, erased_at, revoked_as, lane from writebacks order by seq',
        ),
      ).toMatchObject(
        ['first', 'second', 'third'].map((id, n) => ({
          id,
          seq: n + 1,
          erased_at: null,
          revoked_as: null,
          lane: `conversation/${target}`,
        })),
      )
    })

    test('a place in the queue or in the log that was changed by SQL stops no later insert', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      await insert(q, { id: 'first' })
      await q.warehouse.query("update writebacks set seq = 9223372036854775807 where id = 'first'")
      await q.warehouse.query(`insert into writeback_events (project_id, writeback_id, to_status, seq)
        values ('x', 'first', 'queued', 9223372036854775807)`)
      await insert(q, { id: 'second' })
      await insert(q, { id: 'third' })
      expect(
        await q.warehouse.query("select id from writebacks where id <> 'first' order by seq"),
      ).toEqual([{ id: 'second' }, { id: 'third' }])
      expect(await q.admin.assignProject()).toBe(3)
    })

    test('the words of an open write-back cannot be deleted by SQL, as its lane would wait for it', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      await insert(q, { id: 'open' })
      const erase = () =>
        q.warehouse.query(`update writebacks set erased_at = '2026-01-01T00:00:00Z'`)
      await expect(erase()).rejects.toThrow(
        'only the words of a write-back that has its outcome can be deleted',
      )
      await settle(q, 'open', 'failed')
      await erase()
    })

    test('a row without its target is rejected by the rule that names it', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      const statement = `insert into writebacks (operation, payload) values ('handled', '{"handled":true}')`
      await expect(q.warehouse.query(statement)).rejects.toThrow(
        /message_and_handled_need_conversation_id/,
      )
      await insert(q, { id: 'one' })
      await expect(
        q.warehouse.query('update writebacks set conversation_id = null'),
      ).rejects.toThrow(/message_and_handled_need_conversation_id/)
    })

    test('a ref that failed or conflicted may be queued again, corrected', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      for (const ref of ['open', 'failed', 'conflict']) await insert(q, { id: ref, ref })
      await q.admin.assignProject()
      for (const status of ['failed', 'conflict']) await settle(q, status, status)
      expect(await q.admin.findDuplicateRefs(['open', 'failed', 'conflict', 'strange'])).toEqual(
        new Set(['open']),
      )
      expect(await q.admin.findDuplicateRefs([])).toEqual(new Set())
    })

    test('an expired write-back can be retried; an expiry in the future stays', async ({
      onTestFinished,
    }) => {
      const q = await queue(onTestFinished)
      await insert(q, { id: 'late', expires_at: '2020-01-01T00:00:00Z' })
      await insert(q, { id: 'early', expires_at: '2999-01-01T00:00:00Z' })
      await q.admin.assignProject()
      await settle(q, 'late', 'expired')
      await settle(q, 'early', 'failed')
      expect(
        await decideRows(q.admin, 'retried', { statuses: ['expired', 'failed'] }, { by: 'a test' }),
      ).toMatchObject({
        moved: 2,
      })
      expect(await q.admin.list({}, 10)).toMatchObject([
        { id: 'late', status: 'queued', expiresAt: null },
        { id: 'early', status: 'queued', expiresAt: '2999-01-01T00:00:00Z' },
      ])
    })
  })
}
