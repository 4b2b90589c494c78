/** What has been kept long enough is deleted, and what other code relies on stays. */
import { describe, expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { defaultRetention, parseRetention } from '../../../src/config/fields.ts'
import { markSynced } from '../../../src/maintenance/sql/project-states.ts'
import { deleteExpired } from '../../../src/maintenance/sql/retention.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { openFactsWarehouse, snapshot } from '../../analytics/sql/facts-fixtures.ts'
import { createOutboxFixture, singleItem, toRequest } from '../../outbox/outbox-fixture.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { commit, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

const dayMs = 86_400_000
const expire = (warehouse: Warehouse, now: number) =>
  deleteExpired(warehouse.db, warehouse.kind, defaultRetention, {
    now,
    until: performance.now() + 60_000,
  })

test('a setting names kinds and durations, or forever; the others keep their defaults', () => {
  expect(parseRetention('runs=7d, events=forever')).toEqual({
    ...defaultRetention,
    runs: 7 * dayMs,
    events: null,
  })
  for (const wrong of [
    'runs',
    'runs=',
    'runs=30',
    'people=1d',
    'runs=1h',
    'events=30d',
    'writebacks=30d',
    'runs=1d=2d',
  ])
    expect(parseRetention(wrong), wrong).toBeUndefined()
})

const testOnOne = createTestOnOne()

for (const db of databases) {
  describe(`what has been kept long enough — ${db.name}`, () => {
    testOnOne(
      db.name,
      'runs go, except for the first and the last of each project; gaps go once they are closed',
      async () => {
        const { warehouse, mirror, list } = await openTestWarehouse(db)
        const now = Date.now()
        const ids: string[] = []
        for (let day = 100; day >= 40; day -= 1) {
          const id = await mirror.startRun('incremental', now - day * dayMs)
          ids.push(id)
          await mirror.finishRun(id, 'complete', [], now - day * dayMs)
        }
        for (const [id, resolved] of [
          ['a', now - 91 * dayMs],
          ['b', now - 89 * dayMs],
          ['c', null],
        ] as const)
          await warehouse.query(`insert into sync_gaps (project_id, id, stream, reason, found_at, seen_at, resolved_at, dedup_key)
          values ('main', '${id}', 'calls', 'why', '2020-01-01T00:00:00Z', 1,
            ${resolved === null ? 'null' : `'${new Date(resolved).toISOString().slice(0, 19)}Z'`}, '${id}')`)
        expect(await expire(warehouse, now)).toMatchObject({ runs: 59, gaps: 1 })
        expect(await list('select id from sync_runs order by id')).toEqual([ids[0], ids.at(-1)])
        expect(await list('select id from sync_gaps order by id')).toEqual(['b', 'c'])
      },
    )

    testOnOne(
      db.name,
      'equal snapshots are joined, and the facts of each time zone stay the same, also after a rebuild',
      async () => {
        const { warehouse, mirror, facts, count } = await openFactsWarehouse(db)
        await mirror.startRun('full', Date.UTC(2026, 0, 1))
        const agents = (minute: number) =>
          minute % 100 < 3 ? minute % 3 : Math.floor(minute / 97) % 2
        const minutes = Array.from({ length: 3000 }, (_, minute) => minute).filter(
          (minute) => minute % 400 > 20,
        )
        await mirror.commit(
          commit(
            'availability',
            minutes.map((minute) => ({
              ...snapshot(minute, agents(minute)),
              item: { agentsOnline: agents(minute) },
            })),
          ),
        )
        await markSynced(warehouse.db, 'main', ['availability'], Date.UTC(2026, 0, 3))
        await facts.refresh()
        const hours = () =>
          warehouse.query('select * from fct_availability_hour order by date, hour')
        const before = await hours()
        const { snapshots } = await expire(warehouse, Date.UTC(2026, 2, 1))
        expect(await count('availability_snapshots')).toBe(minutes.length - snapshots)
        expect(snapshots).toBeGreaterThan(2400)
        expect(await expire(warehouse, Date.UTC(2026, 2, 1))).toMatchObject({ snapshots: 0 })
        await facts.rebuild()
        expect(await hours()).toEqual(before)
      },
    )

    testOnOne(db.name, 'replaced versions go only where it is said when', async () => {
      const { warehouse, list } = await openTestWarehouse(db)
      const now = Date.now()
      const mirror = openMirror(warehouse, 'main', { history: ['visitors'] })
      for (const day of [90, 60, 30, 10])
        await mirror.commit(
          commit('visitors', [visitor('v1', { day })], { requestedAt: now - day * dayMs }),
        )
      const { db: database, kind } = warehouse
      const expireAfter = (days: number | null) => {
        const retention = { ...defaultRetention, history: days === null ? null : days * dayMs }
        const until = performance.now() + 60_000
        return deleteExpired(database, kind, retention, { now, until })
      }
      expect(await expireAfter(null)).toMatchObject({ history: 0 })
      expect(await expireAfter(40)).toMatchObject({ history: 1 })
      expect(await list('select count(*) from visitors_history')).toEqual([2])
    })

    testOnOne(
      db.name,
      'the audit log goes after its time, and can be changed by nothing else',
      async () => {
        const { warehouse, list } = await openTestWarehouse(db)
        const now = Date.now()
        const event = {
          project: '',
          person: 'ann',
          role: 'viewer',
          action: 'signed_in',
          subject: null,
          count: null,
        }
        for (const day of [401, 100, 1])
          await createAuditLog(warehouse.db).append(
            { ...event, detail: String(day) },
            now - day * dayMs,
          )
        expect(await expire(warehouse, now)).toMatchObject({ events: 1 })
        expect(await list('select detail from console_events order by at')).toEqual(['100', '1'])
        await expect(
          warehouse.query(`delete from console_events where detail = '1'`),
        ).rejects.toThrow(/only ever added to/)
      },
    )

    testOnOne(
      db.name,
      'a settled write-back loses its words and its log; its ref is still known, and nothing sends it again',
      async () => {
        const database = db.name as 'sqlite' | 'postgres'
        const { warehouse, sandbox, queue, push, visitor, conversation, all } =
          await createOutboxFixture({ database })
        const lines = [
          { operation: 'note', visitor_id: visitor(0), content: 'Called.', ref: 'n1' },
          { operation: 'visitor', visitor_id: visitor(1), name: 'Ada', ref: 'v1' },
          {
            operation: 'message',
            conversation_id: conversation(0),
            content: 'Hi.',
            sender_name: 'Ann',
            ref: 'm1',
          },
          {
            operation: 'note',
            visitor_id: '00000000-0000-4000-8000-000000000000',
            content: 'Nobody.',
            ref: 'n2',
          },
        ]
        await queue(...lines)
        await push()
        const admin = createOutbox(warehouse.projectDb(sandbox.projectId))
        const batch = {
          title: 'Secret title',
          source: 'secret.csv',
          note: 'Secret words',
          reverts: null,
        }
        const options = {
          status: 'draft',
          batchId: 'old',
          createdBy: 'ann',
          expiresAt: null,
          batch,
        } as const
        await admin.enqueue(
          singleItem([toRequest(lines[3]!)].map((line) => ({ ...line, ref: 'n4' }))),
          options,
        )
        await admin.decide('cancelled', { batch: 'old' }, { by: 'ann' })
        await queue({
          operation: 'note',
          visitor_id: visitor(0),
          content: 'Still to be sent.',
          ref: 'n3',
        })
        expect(await expire(warehouse, Date.now() + 399 * dayMs)).toMatchObject({ writebacks: 0 })
        await createOutbox(warehouse.projectDb(sandbox.projectId)).recordFinishedBatches()
        expect(await expire(warehouse, Date.now() + 401 * dayMs)).toMatchObject({ writebacks: 5 })
        expect(await warehouse.query('select * from writeback_cancellations')).toEqual([])
        const [kept] = await warehouse.query('select * from writeback_batches')
        expect(kept).toMatchObject({ id: 'old', title: null, source: null, note: null })
        const text = JSON.stringify(await warehouse.query('select * from writebacks order by seq'))
        expect(text).not.toMatch(/Called|Ada|Hi\.|Nobody/)
        expect(text).toContain('Still to be sent.')
        expect(
          (await warehouse.query('select distinct writeback_id from writeback_events')).length,
        ).toBe(1)
        expect(await queue(...lines)).toEqual([])
        expect(await admin.decide('retried', {}, { by: 'ann' })).toMatchObject({ count: 0 })
        await expect(
          warehouse.query(`update writebacks set status = 'queued' where ref = 'n2'`),
        ).rejects.toThrow(/words were deleted/)
        expect((await all()).map(({ status }) => status)).toEqual([
          'succeeded',
          'succeeded',
          'succeeded',
          'failed',
          'cancelled',
          'queued',
        ])
      },
    )
  })
}
