/** Committing pages to the mirror. */

import { describe, expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { databases } from '../support/databases.ts'
import {
  activity,
  call,
  commit,
  conversation,
  message,
  recording,
  rollup,
  timeAt,
  visitor,
} from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

for (const db of databases) {
  describe(`committing a page — ${db.name}`, () => {
    test('a row is stored with its columns, its raw text and the time of the request', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      const run = await mirror.startRun('incremental', 1_780_272_000_000)
      await mirror.commit(
        commit('messages', [message('c1', 7, { content: 'hello' })], {
          requestedAt: 1_780_272_000_999,
        }),
      )
      expect(await one('select * from messages')).toMatchObject({
        project_id: 'main',
        conversation_id: 'c1',
        id: 7,
        content: 'hello',
        kind: 'utterance',
        created_at: timeAt(2),
        synced_at: '2026-06-01T00:00:00Z',
        run_id: run,
        deleted_at: null,
      })
      expect(
        JSON.parse((await mirror.readRawById('messages', ['c1'])).get('c1') ?? ''),
      ).toMatchObject({
        content: 'hello',
      })
    })

    test('a page of 437 rows is stored completely, and storing it again changes nothing', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      const rows = Array.from({ length: 437 }, (_, i) => message('c1', i))
      expect(await mirror.commit(commit('messages', rows))).toEqual({ changed: 437 })
      expect(await mirror.commit(commit('messages', rows))).toEqual({ changed: 0 })
      expect(await list('select content from messages order by id')).toEqual(
        rows.map((row) => row.columns.content),
      )
    })

    test('of two rows with the same key on a page, the last one is stored', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      const rows = [message('c1', 1, { content: 'first' }), message('c1', 1, { content: 'last' })]
      expect(await mirror.commit(commit('messages', rows))).toEqual({ changed: 1 })
      expect(await list('select content from messages')).toEqual(['last'])
    })

    test('an unchanged row is not written again', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      await mirror.commit(commit('visitors', [visitor('v1')]))
      const [before] = await list('select synced_at from visitors')
      await mirror.commit(
        commit('visitors', [visitor('v1')], { requestedAt: Date.UTC(2027, 0, 1) }),
      )
      expect(await list('select synced_at from visitors')).toEqual([before])
    })

    test('a copy requested earlier never replaces one requested later', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      await mirror.commit(
        commit('visitors', [visitor('v1', {}, { name: 'new' })], { requestedAt: 2000 }),
      )
      expect(
        await mirror.commit(
          commit('visitors', [visitor('v1', {}, { name: 'old' })], { requestedAt: 1999 }),
        ),
      ).toEqual({
        changed: 0,
      })
      expect(await list('select name from visitors')).toEqual(['new'])
    })

    test("a list's copy with an earlier last message does not replace a later one, but a row read by its id does", async () => {
      const { mirror, list, count } = await openTestWarehouse(db)
      await mirror.commit(
        commit('conversations', [
          conversation('c1', { last_message_at: timeAt(50), origin: 'later' }),
        ]),
      )
      await mirror.commit(
        commit('conversations', [
          conversation('c1', { last_message_at: timeAt(40), origin: 'stale' }),
        ]),
      )
      await mirror.commit(
        commit('conversations', [conversation('c1', { last_message_at: null, origin: 'stale' })]),
      )
      expect(await list('select origin from conversations')).toEqual(['later'])
      expect(await count('conversation_changes')).toBe(0)
      expect(await mirror.listRowsToRecheck(9)).toEqual(['c1'])
      const settled = [conversation('c1', { last_message_at: timeAt(40), origin: 'settled' })]
      await mirror.commit(commit('conversations', settled, { isAuthoritative: true }))
      expect(await list('select origin from conversations')).toEqual(['settled'])
      await mirror.clearRecheck(['c1'])
      expect(await mirror.listRowsToRecheck(9)).toEqual([])
    })

    test('projects never touch each other’s rows', async () => {
      const { warehouse, mirror, list } = await openTestWarehouse(db)
      const other = openMirror(warehouse, 'other')
      await mirror.commit(
        commit('visitors', [visitor('v1', {}, { name: 'ours' })], { cursors: { visitors: 'a' } }),
      )
      await other.commit(
        commit('visitors', [visitor('v1', {}, { name: 'theirs' })], { cursors: { visitors: 'b' } }),
      )
      expect(await list('select name from visitors order by project_id')).toEqual([
        'ours',
        'theirs',
      ])
      expect([await mirror.readCursor('visitors'), await other.readCursor('visitors')]).toEqual([
        'a',
        'b',
      ])
    })

    test('cursors are stored with the rows, and deleted by null', async () => {
      const { mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('calls', [], { cursors: { calls: 'one', lookback: 'two' } }))
      await mirror.commit(commit('calls', [], { cursors: { calls: 'three', lookback: null } }))
      expect([await mirror.readCursor('calls'), await mirror.readCursor('lookback')]).toEqual([
        'three',
        null,
      ])
    })

    test('a page that fails halfway stores nothing', async () => {
      const { mirror, count } = await openTestWarehouse(db)
      const broken = {
        ...commit('calls', [call('k1')], { cursors: { calls: 'moved' } }),
        gaps: [{ stream: 'calls' as const, from: Number.NaN, to: null, reason: 'no time' }],
      }
      await expect(mirror.commit(broken)).rejects.toThrow()
      expect([
        await count('calls'),
        await mirror.readCursor('calls'),
        await count('sync_children'),
      ]).toEqual([0, null, 0])
      expect(await mirror.commit(commit('calls', [call('k1')]))).toEqual({ changed: 1 })
    })

    test('pages committed at the same time are all stored', async () => {
      const { mirror, count } = await openTestWarehouse(db)
      const pages = Array.from({ length: 12 }, (_, page) =>
        Array.from({ length: 30 }, (_, i) => visitor(`v${(page * 20 + i) % 200}`)),
      )
      await Promise.all(pages.map((rows) => mirror.commit(commit('visitors', rows))))
      expect(await count('visitors')).toBe(200)
    })

    test('integers beyond 2^53 are stored exactly', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      const big = 9_007_199_254_740_993n
      await mirror.commit(commit('messages', [message('c1', big), message('c1', big + 1n)]))
      expect(await list('select id from messages order by id')).toEqual([big, big + 1n])
      expect((await mirror.readRows('messages', ['c1', String(big)], 10))[0]?.raw).toMatch(
        /9007199254740994/,
      )
    })

    test('strings that the database cannot store are escaped reversibly, and counted', async () => {
      const { mirror, list, one } = await openTestWarehouse(db)
      const nasty = 'a\0b \ud800 ␛0000 😀 é \\u0000'
      await mirror.startRun('incremental', 1)
      await mirror.commit(commit('messages', [message('c1', 1, { content: nasty })]))
      const { decodeText } = await import('../../src/warehouse/escape.ts')
      expect(
        (await list('select content from messages')).map((text) => decodeText(String(text))),
      ).toEqual([nasty])
      expect(
        JSON.parse((await mirror.readRawById('messages', ['c1'])).get('c1') ?? '').content,
      ).toBe(nasty)
      expect(Number((await one('select strings_escaped as n from sync_runs')).n)).toBeGreaterThan(0)
      expect(
        await mirror.commit(commit('messages', [message('c1', 1, { content: nasty })])),
      ).toEqual({ changed: 0 })
    })

    test('values of another type than their column are converted, or null; raw keeps the original', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      const odd = {
        status: 5,
        created_at: 'yesterday',
        handled_at: 17,
        waiting_since: '2026-02-30T00:00:00Z',
        origin: true,
        assigned_agent_id: 9_007_199_254_740_993n,
      }
      await mirror.commit(commit('conversations', [conversation('c1', odd)]))
      expect(await one('select * from conversations')).toMatchObject({
        status: '5',
        created_at: null,
        handled_at: null,
        // There is no such day.
        waiting_since: null,
        origin: 'true',
        assigned_agent_id: '9007199254740993',
      })
      expect((await mirror.readRawById('conversations', ['c1'])).get('c1')).toMatch(/yesterday/)
    })

    test('times with an offset or a fraction are stored in UTC and whole seconds', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      const times = {
        created_at: '2026-01-01T02:00:00.999+02:00',
        handled_at: '2026-01-01T00:00:00Z',
        waiting_since: '0000-01-01T00:00:00Z',
        last_message_at: '9999-12-31T23:59:59-01:00',
      }
      await mirror.commit(commit('conversations', [conversation('c1', times)]))
      expect(
        await one(
          'select created_at, handled_at, waiting_since, last_message_at from conversations',
        ),
      ).toEqual({
        created_at: '2026-01-01T00:00:00Z',
        handled_at: '2026-01-01T00:00:00Z',
        waiting_since: null,
        last_message_at: null,
      })
    })

    test('a row without a readable key is a gap, and the rest of the page is stored', async () => {
      const { mirror, count } = await openTestWarehouse(db)
      expect(
        await mirror.commit(commit('messages', [message('c1', 'no number'), message('c1', 2)])),
      ).toMatchObject({
        changed: 1,
      })
      expect(await count('messages')).toBe(1)
      expect(await mirror.listOpenGaps('messages')).toHaveLength(1)
    })

    test('equal activity entries are distinguished by their number', async () => {
      const { mirror, count } = await openTestWarehouse(db)
      await mirror.commit(
        commit('visitor_activity', [activity('v1', 'h', 0), activity('v1', 'h', 1)]),
      )
      expect(await count('visitor_activity')).toBe(2)
    })

    test('the time of another check for a recording is stored, and is not a change', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      await mirror.commit(commit('call_recordings', [recording('k1', false, timeAt(1))]))
      expect(
        await mirror.commit(commit('call_recordings', [recording('k1', false, timeAt(2))])),
      ).toEqual({
        changed: 0,
      })
      expect((await one('select read_at from call_recordings')).read_at).toBe(timeAt(2))
      expect(
        await mirror.commit(commit('call_recordings', [recording('k1', true, timeAt(3))])),
      ).toEqual({ changed: 1 })
      expect((await one('select read_at from call_recordings')).read_at).toBe(timeAt(3))
    })

    test('the numbers of a rollup are rows by dotted path, and replaced when the rollup changes', async () => {
      const { mirror, all } = await openTestWarehouse(db)
      const metrics = () => all('select metric, value from analytics_metrics order by metric')
      const day = [timeAt(0), timeAt(86_400)] as const
      await mirror.commit(
        commit('analytics', [
          rollup(...day, { calls: { total: 3, median: 1.5 }, by: [{ n: 2 }], text: 'x' }),
        ]),
      )
      expect(await metrics()).toEqual([
        { metric: 'by.0.n', value: 2 },
        { metric: 'calls.median', value: 1.5 },
        { metric: 'calls.total', value: 3 },
      ])
      await mirror.commit(commit('analytics', [rollup(...day, { calls: { total: 4 } })]))
      expect(await metrics()).toEqual([{ metric: 'calls.total', value: 4 }])
      // A name with a dot beside the nested field; an integer that no column of numbers holds.
      const odd = {
        'calls.total': 5,
        calls: { total: 6 },
        'a.b': 7,
        big: 9_007_199_254_740_993n,
        even: 2n ** 60n,
      }
      await mirror.commit(commit('analytics', [rollup(...day, odd)]))
      expect(await metrics()).toEqual([
        { metric: 'a.b', value: 7 },
        { metric: 'calls.total', value: 6 },
        { metric: 'calls\\.total', value: 5 },
        { metric: 'even', value: 2 ** 60 },
      ])
    })

    test('an availability snapshot is a row per time', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      const columns = { read_at: timeAt(9), available: true, agents_online: 4 }
      await mirror.commit(
        commit('availability', [{ columns, extraFields: new Map(), item: columns }]),
      )
      expect(
        await one('select read_at, available, agents_online from availability_snapshots'),
      ).toEqual({
        read_at: timeAt(9),
        available: db.name === 'sqlite' ? 1 : true,
        agents_online: 4,
      })
    })

    test('learned behaviours are stored with their evidence', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      await mirror.commit(
        commit('calls', [], {
          observations: [{ name: 'calls.order', value: 'up', evidence: 'page 1' }],
        }),
      )
      await mirror.commit(
        commit('calls', [], {
          observations: [{ name: 'calls.order', value: 'down', evidence: 'page 2' }],
        }),
      )
      expect([...(await mirror.readBehaviours())]).toEqual([['calls.order', 'down']])
      expect(await one('select value, evidence from service_behaviours')).toEqual({
        value: 'down',
        evidence: 'page 2',
      })
    })
  })
}
