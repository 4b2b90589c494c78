/**
 * Pending children after changes and deletions of parents, gaps, seen rows, and reading the mirror
 * back.
 */

import { describe, expect } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { activity, call, commit, conversation, message, timeAt, visitor } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const later = Date.UTC(2030, 0, 1)
const read = { cursor: null, completeness: 'complete', dueAt: null } as const

const testOnOne = createTestOnOne()

for (const db of databases) {
  describe(`pending children — ${db.name}`, () => {
    testOnOne(
      db.name,
      'a new conversation is not a change, and its messages become pending',
      async () => {
        const { mirror, count } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1')]))
        expect(await count('conversation_changes')).toBe(0)
        expect(await mirror.readPendingParents('messages', later, 10)).toEqual([
          {
            parentId: 'c1',
            requestedVersion: 1,
            readVersion: 0,
            cursor: null,
            attempts: 0,
            checkedAt: null,
            rereadWhole: false,
            parentLastActiveAt: Date.parse(timeAt(1)) / 1000,
            parentBeganAt: expect.toSatisfy((at) => at === null || Number.isInteger(at)),
          },
        ])
      },
    )

    testOnOne(db.name, 'each changed field of a conversation is a row of its history', async () => {
      const { mirror, all } = await openTestWarehouse(db)
      await mirror.commit(commit('conversations', [conversation('c1'), conversation('c2')]))
      const now = conversation('c1', {
        handled_at: timeAt(5),
        assigned_agent_id: 'ann',
        visitor_id: 'not tracked',
      })
      await mirror.commit(commit('conversations', [now, conversation('c2')]))
      expect(
        await all(
          'select conversation_id, field, old_value, new_value from conversation_changes order by field',
        ),
      ).toEqual([
        { conversation_id: 'c1', field: 'assigned_agent_id', old_value: null, new_value: 'ann' },
        { conversation_id: 'c1', field: 'handled_at', old_value: null, new_value: timeAt(5) },
      ])
    })

    testOnOne(
      db.name,
      'messages become pending again only if the last message changed',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1'), conversation('c2')]))
        for (const parentId of ['c1', 'c2']) {
          await mirror.commit(
            commit('messages', [], {
              childRead: { stream: 'messages', parentId, requestedVersion: 1, ...read },
            }),
          )
        }
        expect(await mirror.countPendingParents('messages', later)).toBe(0)
        const changed = [
          conversation('c1', { handled_at: timeAt(5) }),
          conversation('c2', { last_message_at: timeAt(9) }),
        ]
        await mirror.commit(commit('conversations', changed))
        expect(await mirror.readPendingParents('messages', later, 10)).toMatchObject([
          { parentId: 'c2', requestedVersion: 2, readVersion: 1 },
        ])
      },
    )

    testOnOne(
      db.name,
      'a visitor’s activity becomes pending when the visitor is new, changes, or writes in a conversation',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        const markRead = async (requestedVersion: number) =>
          mirror.commit(
            commit('visitor_activity', [], {
              childRead: { stream: 'visitor_activity', parentId: 'v1', requestedVersion, ...read },
            }),
          )
        const pending = async () =>
          (await mirror.readPendingParents('visitor_activity', later, 10)).map(
            ({ parentId, requestedVersion }) => [parentId, requestedVersion],
          )
        await mirror.commit(
          commit('conversations', [
            conversation('c1', { visitor_id: 'v1' }),
            conversation('c2', { visitor_id: 'unknown' }),
          ]),
        )
        expect(await pending()).toEqual([])
        await mirror.commit(commit('visitors', [visitor('v1')]))
        expect(await pending()).toEqual([['v1', 1]])
        await markRead(1)
        await mirror.commit(commit('visitors', [visitor('v1')]))
        expect(await pending()).toEqual([])
        await mirror.commit(commit('visitors', [visitor('v1', {}, { name: 'renamed' })]))
        expect(await pending()).toEqual([['v1', 2]])
        await markRead(2)
        await mirror.commit(
          commit('conversations', [
            conversation('c1', { visitor_id: 'v1', last_message_at: timeAt(99) }),
          ]),
        )
        expect(await pending()).toEqual([['v1', 3]])
      },
    )

    testOnOne(
      db.name,
      'a call’s recording becomes pending when the call is new or changes',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        await mirror.commit(commit('calls', [call('k1'), call('k2')]))
        await mirror.commit(commit('calls', [call('k1'), call('k2', {}, { seconds: 4 })]))
        expect(
          (await mirror.readPendingParents('call_recordings', later, 10))
            .map(({ requestedVersion }) => requestedVersion)
            .sort(),
        ).toEqual([1, 2])
      },
    )

    testOnOne(
      db.name,
      'after a complete read nothing is pending and the conversation is flagged, unless it changed meanwhile',
      async () => {
        const { mirror, list } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1')]))
        await mirror.commit(
          commit('messages', [message('c1', 1)], {
            childRead: {
              stream: 'messages',
              parentId: 'c1',
              requestedVersion: 1,
              ...read,
              cursor: 'to 1',
            },
          }),
        )
        expect(await mirror.countPendingParents('messages', later)).toBe(0)
        expect((await list('select messages_complete from conversations')).map(Boolean)).toEqual([
          true,
        ])
        await mirror.commit(
          commit('conversations', [conversation('c1', { last_message_at: timeAt(8) })]),
        )
        await mirror.commit(
          commit('conversations', [conversation('c1', { last_message_at: timeAt(9) })]),
        )
        await mirror.commit(
          commit('messages', [], {
            childRead: {
              stream: 'messages',
              parentId: 'c1',
              requestedVersion: 2,
              ...read,
              cursor: 'to 2',
            },
          }),
        )
        expect(await mirror.readPendingParents('messages', later, 10)).toMatchObject([
          {
            parentId: 'c1',
            requestedVersion: 3,
            readVersion: 2,
            cursor: 'to 2',
            attempts: 0,
            rereadWhole: false,
          },
        ])
      },
    )

    testOnOne(db.name, 'a page in the middle of a list leaves its parent pending', async () => {
      const { mirror, count } = await openTestWarehouse(db)
      await mirror.commit(commit('conversations', [conversation('c1')]))
      await mirror.commit(commit('messages', [message('c1', 1)]))
      expect([
        await mirror.countPendingParents('messages', later),
        await count('messages'),
      ]).toEqual([1, 1])
    })

    testOnOne(
      db.name,
      'an incomplete list is a flag and a gap, until it is read completely',
      async () => {
        const { mirror, list } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1')]))
        const child = { stream: 'messages', parentId: 'c1', requestedVersion: 1, ...read } as const
        await mirror.commit(
          commit('messages', [], {
            childRead: { ...child, completeness: 'incomplete', why: 'no paging' },
          }),
        )
        expect((await list('select messages_complete from conversations')).map(Boolean)).toEqual([
          false,
        ])
        expect(await mirror.listOpenGaps('messages')).toMatchObject([
          { stream: 'messages', from: null, to: null, reason: 'no paging' },
        ])
        expect(await mirror.countPendingParents('messages', later)).toBe(0)
        await mirror.recordChildFailure('messages', 'c1', 'HTTP 500', later)
        expect((await mirror.listOpenGaps('messages')).map(({ reason }) => reason)).toEqual([
          'no paging',
          'HTTP 500',
        ])
        await mirror.commit(
          commit('messages', [], { childRead: { ...child, completeness: 'unchanged' } }),
        )
        expect(await mirror.listOpenGaps('messages')).toMatchObject([{ reason: 'no paging' }])
        expect((await list('select messages_complete from conversations')).map(Boolean)).toEqual([
          false,
        ])
        await mirror.commit(commit('messages', [], { childRead: child }))
        expect(await mirror.listOpenGaps('messages')).toEqual([])
      },
    )

    testOnOne(
      db.name,
      'a failed child is retried later, is one gap, and its attempts are reset once it is read',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1'), conversation('c2')]))
        await mirror.recordChildFailure('messages', 'c1', 'HTTP 500', later)
        await mirror.recordChildFailure('messages', 'c1', 'HTTP 502', later)
        expect(
          (await mirror.readPendingParents('messages', later - 1, 10)).map(
            ({ parentId }) => parentId,
          ),
        ).toEqual(['c2'])
        expect(await mirror.listOpenGaps('messages')).toMatchObject([{ reason: 'HTTP 502' }])
        expect(await mirror.readPendingParents('messages', later, 10)).toMatchObject([
          { parentId: 'c1', attempts: 2 },
          { attempts: 0 },
        ])
        await mirror.commit(
          commit('messages', [], {
            childRead: {
              stream: 'messages',
              parentId: 'c1',
              requestedVersion: 1,
              ...read,
              dueAt: later,
            },
          }),
        )
        expect(await mirror.listOpenGaps('messages')).toEqual([])
        expect(
          (await mirror.readPendingParents('messages', later, 10)).find(
            ({ parentId }) => parentId === 'c1',
          )?.attempts,
        ).toBe(0)
      },
    )

    testOnOne(
      db.name,
      'refreshes come before first reads, and first reads go newest first',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        for (const [i, id] of ['c1', 'c2', 'c3'].entries()) {
          await mirror.commit(
            commit('conversations', [conversation(id)], { requestedAt: 1000 + i }),
          )
        }
        await mirror.commit(
          commit('messages', [], {
            requestedAt: 2000,
            childRead: {
              stream: 'messages',
              parentId: 'c3',
              requestedVersion: 1,
              ...read,
              dueAt: 3000,
            },
          }),
        )
        const pending = async (now: number, limit: number) =>
          (await mirror.readPendingParents('messages', now, limit)).map(({ parentId }) => parentId)
        expect(await pending(2999, 10)).toEqual(['c2', 'c1'])
        expect(await pending(3000, 10)).toEqual(['c3', 'c2', 'c1'])
        expect(await pending(3000, 2)).toEqual(['c3', 'c2'])
        expect(await mirror.countPendingParents('messages', 3000)).toBe(3)
      },
    )

    testOnOne(
      db.name,
      'full re-reads can be requested for all children, or for those with the oldest read',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        const ids = Array.from({ length: 10 }, (_, i) => `c${i}`)
        await mirror.commit(
          commit(
            'conversations',
            ids.map((id) => conversation(id)),
          ),
        )
        for (const parentId of ids) {
          await mirror.commit(
            commit('messages', [], {
              childRead: { stream: 'messages', parentId, requestedVersion: 1, ...read },
            }),
          )
        }
        expect(await mirror.requestFullRereads('messages', { atLeast: 2, oneIn: 100 }, 50)).toBe(2)
        expect(
          (await mirror.readPendingParents('messages', 50, 10))
            .map(({ parentId }) => parentId)
            .sort(),
        ).toEqual(['c0', 'c1'])
        // Two of them are pending anyway.
        expect(await mirror.requestFullRereads('messages', { atLeast: 0, oneIn: 3 }, 50)).toBe(
          2 + 4,
        )
        expect(await mirror.requestFullRereads('messages', 'all', 50)).toBe(10)
        expect(await mirror.countPendingParents('messages', 50)).toBe(10)
      },
    )

    testOnOne(
      db.name,
      'a full re-read comes last, stays pending until it is done, and is then like any other child',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1')], { requestedAt: 1 }))
        const childRead = {
          stream: 'messages',
          parentId: 'c1',
          requestedVersion: 1,
          ...read,
        } as const
        await mirror.commit(commit('messages', [], { requestedAt: 2, childRead: childRead }))
        await mirror.requestFullRereads('messages', 'all', 3)
        await mirror.commit(commit('conversations', [conversation('c2')], { requestedAt: 4 }))
        const pending = await mirror.readPendingParents('messages', 5, 10)
        expect(pending.map(({ parentId, rereadWhole }) => [parentId, rereadWhole])).toEqual([
          ['c2', false],
          ['c1', true],
        ])
        await mirror.commit(
          commit('messages', [], { requestedAt: 6, childRead: { ...childRead, dueAt: 7 } }),
        )
        expect(await mirror.readPendingParents('messages', 7, 1)).toMatchObject([
          { parentId: 'c1', rereadWhole: false },
        ])
      },
    )

    testOnOne(db.name, 'rows that a scan did not return are found', async () => {
      const { mirror } = await openTestWarehouse(db)
      const rows = ['c1', 'c2', 'c3', 'c4'].map((id) =>
        conversation(id, id === 'c2' ? { handled_at: timeAt(3) } : {}),
      )
      await mirror.commit(commit('conversations', rows))
      await mirror.commit(commit('conversations', [conversation('c1')], { seenRowsKey: 'scan' }))
      expect(await mirror.listUnseenRows('conversations', 'scan', 'all', null, 2)).toEqual([
        'c2',
        'c3',
      ])
      expect(await mirror.listUnseenRows('conversations', 'scan', 'all', 'c3', 2)).toEqual(['c4'])
      expect(await mirror.listUnseenRows('conversations', 'scan', 'open', null, 9)).toEqual([
        'c3',
        'c4',
      ])
      expect(await mirror.countUnseenRows('conversations', 'scan', 'all')).toEqual({
        unseen: 3,
        living: 4,
      })
      await mirror.markDeleted('conversations', 'c3', later)
      expect(await mirror.countUnseenRows('conversations', 'scan', 'open')).toEqual({
        unseen: 1,
        living: 2,
      })
      await mirror.forgetSeenRows('scan')
      expect(await mirror.countUnseenRows('conversations', 'scan', 'all')).toEqual({
        unseen: 3,
        living: 3,
      })
    })

    testOnOne(
      db.name,
      'a deleted row is marked with its children, and is restored when the service returns it again',
      async () => {
        const { mirror, list } = await openTestWarehouse(db)
        await mirror.commit(commit('visitors', [visitor('v1')]))
        await mirror.commit(commit('visitor_activity', [activity('v1', 'h')]))
        await mirror.markDeleted('visitors', 'v1', Date.UTC(2026, 6, 1))
        const deletedAt = async (table: string) =>
          (await list(`select deleted_at from ${table}`))[0]
        expect([await deletedAt('visitors'), await deletedAt('visitor_activity')]).toEqual([
          '2026-07-01T00:00:00Z',
          '2026-07-01T00:00:00Z',
        ])
        expect(await mirror.countPendingParents('visitor_activity', later)).toBe(0)
        expect(await mirror.commit(commit('visitors', [visitor('v1')]))).toEqual({ changed: 0 })
        expect(
          await mirror.commit(commit('visitors', [visitor('v1')], { requestedAt: later })),
        ).toEqual({ changed: 1 })
        await mirror.commit(
          commit('visitor_activity', [activity('v1', 'h')], { requestedAt: later }),
        )
        expect([await deletedAt('visitors'), await deletedAt('visitor_activity')]).toEqual([
          null,
          null,
        ])
        expect(await mirror.countPendingParents('visitor_activity', later)).toBe(1)
      },
    )

    testOnOne(
      db.name,
      'a gap is open once, closes when a complete read does not find it again, and may open again',
      async () => {
        const { warehouse, mirror, count } = await openTestWarehouse(db)
        const gap = {
          stream: 'calls',
          from: 100,
          to: 100,
          reason: 'more rows than a page in one second',
        } as const
        const span = { stream: 'calls', from: 200, to: 300, reason: 'unreadable' } as const
        await mirror.commit(commit('calls', [], { gaps: [gap, span] }))
        await mirror.commit(commit('calls', [], { gaps: [gap] }))
        expect(await mirror.listOpenGaps('calls')).toMatchObject([gap, span])
        const since = Date.now() + 1000
        const projectDb = () => ({ ...warehouse.projectDb('main'), clock: () => since })
        const laterMirror = openMirror({ ...warehouse, projectDb }, 'main')
        await laterMirror.commit(commit('calls', [], { gaps: [gap] }))
        expect(await laterMirror.resolveGaps('calls', since)).toBe(1)
        expect(await mirror.listOpenGaps('calls')).toMatchObject([gap])
        await mirror.commit(commit('calls', [], { gaps: [span] }))
        expect(await count('sync_gaps')).toBe(3)
        expect(await mirror.resolveGaps('calls', since + 1)).toBe(2)
      },
    )

    testOnOne(
      db.name,
      'a gap of one parent closes with its children, not with a list',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        await mirror.commit(commit('conversations', [conversation('c1')]))
        await mirror.recordChildFailure('messages', 'c1', 'HTTP 500', later)
        expect(await mirror.resolveGaps('messages', Date.now() + 1000)).toBe(0)
      },
    )

    testOnOne(db.name, 'a call whose recording is pending says when it happened', async () => {
      const { mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('calls', [call('k1', { occurred_at: timeAt(10) })]))
      expect(
        (await mirror.readPendingParents('call_recordings', later, 1))[0]?.parentLastActiveAt,
      ).toBe(Date.UTC(2026, 0, 1) / 1000 + 10)
    })

    testOnOne(
      db.name,
      'scans can ask for the times of the newest calls, of the earliest row and of the latest message',
      async () => {
        const { mirror } = await openTestWarehouse(db)
        expect([
          await mirror.earliestTime(),
          await mirror.nthNewestCallTime(1, later / 1000),
          await mirror.latestMessageTime(),
        ]).toEqual([null, null, null])
        await mirror.commit(
          commit('calls', [
            call('a', { occurred_at: timeAt(10) }),
            call('b', { occurred_at: timeAt(20) }),
            call('c', { occurred_at: null }),
          ]),
        )
        const start = Date.UTC(2026, 0, 1) / 1000
        expect([
          await mirror.nthNewestCallTime(1, later / 1000),
          await mirror.nthNewestCallTime(2, later / 1000),
          await mirror.nthNewestCallTime(3, later / 1000),
        ]).toEqual([start + 20, start + 10, null])
        expect(await mirror.earliestTime()).toBe(start + 10)
        await mirror.commit(commit('messages', [message('m', 1)]))
        expect(await mirror.latestMessageTime()).toBe(start + 2)
        await mirror.commit(
          commit('conversations', [conversation('c', { last_message_at: timeAt(3) })]),
        )
        expect(await mirror.latestMessageTime()).toBe(start + 3)
      },
    )

    testOnOne(db.name, 'rows are read back in key order', async () => {
      const { mirror } = await openTestWarehouse(db)
      const rows = [
        message('é', 1),
        message('b', 10),
        message('b', 9),
        message('B', 1),
        message('a', 1),
      ]
      await mirror.commit(commit('messages', rows))
      const first = await mirror.readRows('messages', null, 3)
      expect(first.map(({ key }) => key)).toEqual([
        ['B', '1'],
        ['a', '1'],
        ['b', '9'],
      ])
      expect((await mirror.readRows('messages', ['b', '9'], 9)).map(({ key }) => key)).toEqual([
        ['b', '10'],
        ['é', '1'],
      ])
      expect((await mirror.readRows('messages', null, 9, 'b')).map(({ key }) => key[1])).toEqual([
        '9',
        '10',
      ])
    })
  })
}
