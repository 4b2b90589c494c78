/** Webhook deliveries in the warehouse. */
import { describe, expect, test } from 'vitest'
import {
  createDeliveries,
  duplicateWindowMs,
  maxDoneDeliveries,
  maxPendingDeliveries,
} from '../../../src/mirror/sql/webhook-deliveries.ts'
import { databases } from '../../support/databases.ts'
import { call, commit, conversation, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

const now = Date.UTC(2026, 5, 1)
const minute = 60_000
const delivery = (id: string, body = '{}') => ({ id, body, bytes: body.length })

for (const db of databases) {
  describe(`webhook deliveries — ${db.name}`, () => {
    test('the same body is stored once, until it can no longer be a duplicate', async () => {
      const { warehouse, count } = await openTestWarehouse(db)
      const { store, claim, settle } = createDeliveries(warehouse.db, warehouse.kind)
      expect(await store('main', delivery('a'), now)).toBe(true)
      expect(await store('main', delivery('a'), now + 1000)).toBe(false)
      expect(await store('other', delivery('a'), now)).toBe(true)
      expect(await count('webhook_deliveries')).toBe(2)
      await claim('main', now, 10)
      await settle('main', 'a', 'nothing', now)
      expect(await store('main', delivery('a'), now + duplicateWindowMs)).toBe(false)
      expect(await claim('main', now + duplicateWindowMs, 10)).toEqual([])
      expect(await store('main', delivery('a'), now + duplicateWindowMs + 1000)).toBe(true)
      expect(await claim('main', now + duplicateWindowMs + 1000, 10)).toHaveLength(1)
      expect(await count('webhook_deliveries')).toBe(2)
    })

    test('pending and done deliveries are limited, so that a flood cannot fill the disk', async () => {
      const { warehouse, count } = await openTestWarehouse(db)
      const { isFull, trimDone, store } = createDeliveries(warehouse.db, warehouse.kind)
      const time = (day: string) => (db.name === 'sqlite' ? `'${day}'` : `timestamptz '${day}'`)
      const flood = (name: string, rows: number, due: string, day: string) =>
        warehouse.query(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${rows})
          insert into webhook_deliveries (project_id, id, received_at, bytes, body, due_at, attempts)
          select 'main', '${name}' || n, ${time(day)}, 2, '{}', ${due}, 0 from numbers`)
      await flood('waiting ', maxPendingDeliveries - 1, '1', '2026-05-01T00:00:00Z')
      expect(await isFull('main')).toBe(false)
      await store('main', delivery('the last'), now)
      expect([await isFull('main'), await isFull('other')]).toEqual([true, false])
      await flood('old ', 3, 'null', '2026-04-01T00:00:00Z')
      await flood('done ', maxDoneDeliveries, 'null', '2026-05-01T00:00:00Z')
      expect(await trimDone()).toBe(3)
      expect(await count('webhook_deliveries')).toBe(maxPendingDeliveries + maxDoneDeliveries)
      expect(await warehouse.query("select id from webhook_deliveries where id like 'old%'")).toEqual([])
    })

    test('a delivery is claimed once, is due again if its claim runs out, and is done when settled', async () => {
      const { warehouse, one } = await openTestWarehouse(db)
      const { store, claim, settle, firstDuePerProject, postpone } = createDeliveries(warehouse.db, warehouse.kind)
      await store('main', delivery('a', 'NUL \0 and ␛'), now)
      const claimed = (await Promise.all([claim('main', now, 10), claim('main', now, 10)])).flat()
      expect(claimed).toEqual([{ id: 'a', body: 'NUL \0 and ␛', attempts: 1 }])
      expect(await firstDuePerProject(now + 1000)).toEqual([])
      expect(await firstDuePerProject(now + minute)).toEqual([{ project: 'main', id: 'a' }])
      expect(await claim('main', now + minute, 10)).toMatchObject([{ id: 'a', attempts: 2 }])
      await postpone('main', ['a'], now + 10 * minute)
      expect(await firstDuePerProject(now + 9 * minute)).toEqual([])
      await settle('main', 'a', 'nothing', now + 10 * minute)
      expect(await firstDuePerProject(now + 100 * minute)).toEqual([])
      expect(await one('select found, attempts from webhook_deliveries')).toEqual({ found: 'nothing', attempts: 2 })
    })

    test('several processes never claim the same delivery', async () => {
      const { database, warehouse } = await openTestWarehouse(db)
      const other = await database.open()
      for (let n = 0; n < 20; n += 1)
        await createDeliveries(warehouse.db, warehouse.kind).store('main', delivery(`d${n}`), now)
      const claims = Array.from({ length: 12 }, (_, n) =>
        createDeliveries((n % 2 ? other : warehouse).db, (n % 2 ? other : warehouse).kind).claim('main', now, 5),
      )
      const claimed = (await Promise.all(claims)).flat().map(({ id }) => id)
      expect(new Set(claimed).size).toBe(claimed.length)
      expect(claimed.length).toBeGreaterThan(0)
    })

    test('claims are limited and go oldest first; old deliveries are deleted', async () => {
      const { warehouse, list } = await openTestWarehouse(db)
      const { store, claim, deleteOlderThan } = createDeliveries(warehouse.db, warehouse.kind)
      for (const [age, id] of ['c', 'a', 'b'].entries()) await store('main', delivery(id), now - age * minute)
      expect((await claim('main', now, 2)).map(({ id }) => id).sort()).toEqual(['a', 'b'])
      expect(await deleteOlderThan(now - minute)).toBe(1)
      expect(await list('select id from webhook_deliveries order by id')).toEqual(['a', 'c'])
    })

    test('ids are found in the tables of this project only', async () => {
      const { warehouse, mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('conversations', [conversation('c1')]))
      await mirror.commit(commit('visitors', [visitor('v1')]))
      await mirror.commit(commit('calls', [call('k1')]))
      const ids = ['c1', 'v1', 'k1', 'x']
      expect(await createDeliveries(warehouse.db, warehouse.kind).locateRows('main', ids)).toEqual(
        new Map([
          ['c1', { id: 'c1', table: 'conversations' }],
          ['v1', { id: 'v1', table: 'visitors' }],
          ['k1', { id: 'k1', table: 'calls' }],
        ]),
      )
      expect(await createDeliveries(warehouse.db, warehouse.kind).locateRows('other', ids)).toEqual(new Map())
    })

    test('children can be marked pending although the parent has not changed', async () => {
      const { mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('calls', [call('k1')]))
      const [pending] = await mirror.readPendingParents('call_recordings', now * 2, 1)
      const read = {
        stream: 'call_recordings',
        parentId: 'k1',
        completeness: 'complete',
        cursor: null,
        dueAt: null,
      } as const
      await mirror.commit(
        commit('call_recordings', [], { childRead: { ...read, requestedVersion: pending!.requestedVersion } }),
      )
      expect(await mirror.countPendingParents('call_recordings', now)).toBe(0)
      await mirror.markChildrenPending('call_recordings', ['k1', 'unknown'], now)
      expect(await mirror.countPendingParents('call_recordings', now)).toBe(1)
    })
  })
}
