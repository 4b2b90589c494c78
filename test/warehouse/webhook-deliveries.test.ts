/** What webhooks brought, as the warehouse keeps it. */
import { describe, expect, test } from 'vitest'
import { maxDoneDeliveries, maxPendingDeliveries, duplicateWindowMs } from '../../src/warehouse/webhook-deliveries.ts'
import { databases } from '../support/databases.ts'
import { call, commit, conversation, visitor } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const now = Date.UTC(2026, 5, 1)
const minute = 60_000
const delivery = (id: string, body = '{}') => ({ id, body, bytes: body.length })

for (const db of databases) {
  describe(`deliveries — ${db.name}`, () => {
    test('the same one is stored once, and is news again only when it cannot be a repetition any more', async () => {
      const { warehouse, count } = await openTestWarehouse(db)
      const { store, claim, settle } = warehouse.deliveries
      expect(await store('desk', delivery('a'), now)).toBe(true)
      expect(await store('desk', delivery('a'), now + 1000)).toBe(false)
      expect(await store('another desk', delivery('a'), now)).toBe(true)
      expect(await count('webhook_deliveries')).toBe(2)
      await claim('desk', now, 10)
      await settle('desk', 'a', 'nothing', now)
      expect(await store('desk', delivery('a'), now + duplicateWindowMs)).toBe(false)
      expect(await claim('desk', now + duplicateWindowMs, 10)).toEqual([])
      expect(await store('desk', delivery('a'), now + duplicateWindowMs + 1000)).toBe(true)
      expect(await claim('desk', now + duplicateWindowMs + 1000, 10)).toHaveLength(1)
      expect(await count('webhook_deliveries')).toBe(2)
    })

    test('so many may wait, and so many that are done are kept: a flood fills no disk', async () => {
      const { warehouse, count } = await openTestWarehouse(db)
      const { isFull, trimDone: trim, store } = warehouse.deliveries
      const time = (day: string) => (db.name === 'sqlite' ? `'${day}'` : `timestamptz '${day}'`)
      const flood = (name: string, rows: number, due: string, day: string) =>
        warehouse.query(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${rows})
          insert into webhook_deliveries (project_id, id, received_at, bytes, body, due_at, attempts)
          select 'desk', '${name}' || n, ${time(day)}, 2, '{}', ${due}, 0 from numbers`)
      await flood('waiting ', maxPendingDeliveries - 1, '1', '2026-05-01T00:00:00Z')
      expect(await isFull('desk')).toBe(false)
      await store('desk', delivery('the last'), now)
      expect([await isFull('desk'), await isFull('another desk')]).toEqual([true, false])
      await flood('old ', 3, 'null', '2026-04-01T00:00:00Z')
      await flood('done ', maxDoneDeliveries, 'null', '2026-05-01T00:00:00Z')
      expect(await trim()).toBe(3)
      expect(await count('webhook_deliveries')).toBe(maxPendingDeliveries + maxDoneDeliveries)
      expect(await warehouse.query("select id from webhook_deliveries where id like 'old%'")).toEqual([])
    })

    test('one is taken by one, is due again where that one died, and is over when it is settled', async () => {
      const { warehouse, one } = await openTestWarehouse(db)
      const { store, claim, settle, firstDuePerProject: due, postpone } = warehouse.deliveries
      await store('desk', delivery('a', 'NUL \0 and ␛'), now)
      const taken = (await Promise.all([claim('desk', now, 10), claim('desk', now, 10)])).flat()
      expect(taken).toEqual([{ id: 'a', body: 'NUL \0 and ␛', attempts: 1 }])
      expect(await due(now + 1000)).toEqual([])
      expect(await due(now + minute)).toEqual([{ project: 'desk', id: 'a' }])
      expect(await claim('desk', now + minute, 10)).toMatchObject([{ id: 'a', attempts: 2 }])
      await postpone('desk', ['a'], now + 10 * minute)
      expect(await due(now + 9 * minute)).toEqual([])
      await settle('desk', 'a', 'nothing', now + 10 * minute)
      expect(await due(now + 100 * minute)).toEqual([])
      expect(await one('select found, attempts from webhook_deliveries')).toEqual({ found: 'nothing', attempts: 2 })
    })

    test('several processes that take at once never take the same one', async () => {
      const { place, warehouse } = await openTestWarehouse(db)
      const other = await place.open()
      for (let n = 0; n < 20; n += 1) await warehouse.deliveries.store('desk', delivery(`d${n}`), now)
      const claims = Array.from({ length: 12 }, (_, n) => (n % 2 ? other : warehouse).deliveries.claim('desk', now, 5))
      const taken = (await Promise.all(claims)).flat().map(({ id }) => id)
      expect(new Set(taken).size).toBe(taken.length)
      expect(taken.length).toBeGreaterThan(0)
    })

    test('so many at a time, the oldest first; and old ones are forgotten', async () => {
      const { warehouse, list } = await openTestWarehouse(db)
      const { store, claim, deleteOlderThan: forget } = warehouse.deliveries
      for (const [age, id] of ['c', 'a', 'b'].entries()) await store('desk', delivery(id), now - age * minute)
      expect((await claim('desk', now, 2)).map(({ id }) => id).sort()).toEqual(['a', 'b'])
      expect(await forget(now - minute)).toBe(1)
      expect(await list('select id from webhook_deliveries order by id')).toEqual(['a', 'c'])
    })

    test('ids are found in the tables that have them, of this project only', async () => {
      const { warehouse, mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('conversations', [conversation('c1')]))
      await mirror.commit(commit('visitors', [visitor('v1')]))
      await mirror.commit(commit('calls', [call('k1')]))
      const ids = ['c1', 'v1', 'k1', 'x']
      expect(await warehouse.deliveries.findKinds('desk', ids)).toEqual(
        new Map([
          ['c1', 'conversations'],
          ['v1', 'visitors'],
          ['k1', 'calls'],
        ]),
      )
      expect(await warehouse.deliveries.findKinds('another desk', ids)).toEqual(new Map())
    })

    test('children of a parent are wanted again although its row has not changed', async () => {
      const { mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('calls', [call('k1')]))
      const [due] = await mirror.readPendingChildren('call_recordings', now * 2, 1)
      const read = { stream: 'call_recordings', parentId: 'k1', complete: true, cursor: null, againAt: null } as const
      await mirror.commit(commit('call_recordings', [], { child: { ...read, requestedVersion: due!.requestedVersion } }))
      expect(await mirror.countPendingChildren('call_recordings', now)).toBe(0)
      await mirror.markChildrenPending('call_recordings', ['k1', 'nobody'], now)
      expect(await mirror.countPendingChildren('call_recordings', now)).toBe(1)
    })
  })
}
