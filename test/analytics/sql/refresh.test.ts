/**
 * Facts follow the mirror: whatever changes, a refresh of what is pending equals deriving
 * everything anew.
 */

import { describe, expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Mirror } from '../../../src/mirror/sql/mirror.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { activity, commit, conversation, message, timeAt } from '../../warehouse/row-fixtures.ts'
import {
  mirrorSomeRows,
  openFactsWarehouse,
  readFacts,
  readMessages,
  refreshAndRebuild,
  snapshot,
} from './facts-fixtures.ts'
import { factsOf } from './facts-settings.ts'

const testOnOne = createTestOnOne()

const handled = { handled_at: timeAt(5000), last_message_at: timeAt(3720) }

/** Each changes something that facts show. */
const changes: Readonly<Record<string, (mirror: Mirror) => Promise<unknown>>> = {
  'a message arrives late, between two others': (mirror) =>
    mirror.commit(
      readMessages(
        'c1',
        [message('c1', 9, { sender_type: 'agent', created_at: timeAt(70) })],
        'unchanged',
      ),
    ),
  'a message is edited': (mirror) =>
    mirror.commit(
      readMessages('c1', [
        message('c1', 4, { sender_display_name: 'Eve', created_at: timeAt(3720) }),
      ]),
    ),
  'a message has a sender whose role nobody knows': (mirror) =>
    mirror.commit(readMessages('c2', [message('c2', 9, { sender_type: 'zebra' })])),
  'the service no longer lists all messages': (mirror) =>
    mirror.commit(readMessages('c1', [], 'incomplete')),
  'a conversation is new, and its messages are not read yet': (mirror) =>
    mirror.commit(commit('conversations', [conversation('c9')])),
  'a message is stored before its conversation': async (mirror) => {
    await mirror.commit(readMessages('c8', [message('c8', 1)]))
    await mirror.commit(commit('conversations', [conversation('c8')]))
  },
  'a conversation is handled': (mirror) =>
    mirror.commit(commit('conversations', [conversation('c1', handled)])),
  'a conversation is handled and comes back': async (mirror) => {
    await mirror.commit(commit('conversations', [conversation('c1', handled)]))
    await mirror.commit(
      commit('conversations', [conversation('c1', { last_message_at: timeAt(6000) })]),
    )
    await mirror.commit(
      readMessages(
        'c1',
        [message('c1', 5, { sender_type: 'visitor', created_at: timeAt(6000) })],
        'unchanged',
      ),
    )
  },
  'a conversation is assigned to another agent': (mirror) =>
    mirror.commit(
      commit('conversations', [conversation('c1', { assigned_agent_id: 'a7' })], {
        isAuthoritative: true,
      }),
    ),
  'a conversation is deleted': (mirror) =>
    mirror.markDeleted('conversations', 'c1', Date.UTC(2026, 8, 1)),
  'a deleted conversation is there again': async (mirror) => {
    await mirror.markDeleted('conversations', 'c3', Date.UTC(2026, 1, 1))
    await mirror.commit(commit('conversations', [conversation('c3')]))
  },
  'a visitor does something again, hours later': (mirror) => {
    const entry = activity('v1', 'three')
    return mirror.commit(
      commit('visitor_activity', [
        { ...entry, columns: { ...entry.columns, occurred_at: timeAt(20_000) } },
      ]),
    )
  },
  'a visitor is deleted': (mirror) => mirror.markDeleted('visitors', 'v1', Date.UTC(2026, 8, 1)),
  'the availability is read in the next hour': (mirror) =>
    mirror.commit(commit('availability', [snapshot(61, 0)])),
  'the availability is read after a night without the mirror': (mirror) =>
    mirror.commit(commit('availability', [snapshot(700)])),
}

for (const db of databases)
  test(`after each change, one after another, a refresh equals a rebuild (${db.name})`, async () => {
    const { warehouse, mirror, facts } = await openFactsWarehouse(db)
    await mirrorSomeRows(mirror)
    await facts.refresh()
    for (const [title, change] of Object.entries(changes)) {
      const before = await readFacts(warehouse)
      await change(mirror)
      const { refreshed, rebuilt } = await refreshAndRebuild(warehouse, facts)
      expect(refreshed, title).not.toEqual(before)
      expect(refreshed, title).toEqual(rebuilt)
    }
  })

for (const db of databases) {
  describe(`facts — ${db.name}`, () => {
    testOnOne(
      db.name,
      'a conversation has its waits, states, contributions and totals',
      async () => {
        const { mirror, facts, one, list, count } = await openFactsWarehouse(db)
        await mirrorSomeRows(mirror, ['c1'])
        await facts.refresh()
        const booleans = db.name === 'sqlite' ? { no: 0, yes: 1 } : { no: false, yes: true }
        expect(await one('select * from fct_conversation')).toMatchObject({
          project_id: 'main',
          created_at: timeAt(0),
          created_date: '2026-01-01',
          created_hour: 1,
          is_complete: booleans.yes,
          is_open: booleans.yes,
          answered_by: 'human and ai',
          waits: 2,
          first_answer_seconds: 30,
          first_answer_business_seconds: 0,
          first_human_seconds: 3660,
          history_complete: booleans.yes,
          is_one_touch: booleans.no,
        })
        expect(await list('select ended_by from fct_wait order by wait_number')).toEqual([
          'ai',
          'human',
        ])
        expect(await list('select began_by from fct_state')).toEqual(['created'])
        expect(await list('select name from fct_contribution order by role, name')).toEqual([
          'Assistant',
          'Ann',
          '',
        ])
        expect(await list('select role from dim_sender_type order by sender_type')).toEqual([
          'human',
          'ai',
          'visitor',
        ])
        expect(await list('select entries from fct_visit order by visitor_id')).toEqual([2, 2])
        expect(await one('select * from fct_availability_hour where hour = 1')).toMatchObject({
          snapshots: 3,
          observed_seconds: 900,
        })
        expect(await count('facts_due')).toBe(0)
      },
    )

    testOnOne(db.name, 'what did not change is not derived again', async () => {
      const { mirror, facts, count } = await openFactsWarehouse(db)
      await mirrorSomeRows(mirror)
      expect(await facts.refresh()).toEqual({ conversations: 3, isComplete: true })
      await mirror.commit(commit('conversations', [conversation('c1'), conversation('c2')]))
      await mirror.commit(readMessages('c1', [message('c1', 4, { created_at: timeAt(3720) })]))
      expect(await count('facts_due')).toBe(0)
      expect(await facts.refresh()).toEqual({ conversations: 0, isComplete: true })
    })

    test('projects never touch each other’s facts', async () => {
      const { warehouse, mirror, facts, list } = await openFactsWarehouse(db)
      const other = openMirror(warehouse, 'other')
      await mirrorSomeRows(mirror)
      await mirrorSomeRows(other, ['c1'])
      await facts.refresh()
      await factsOf(warehouse, undefined, 'Asia/Kolkata', 'other').refresh()
      await other.markDeleted('conversations', 'c1', Date.UTC(2026, 8, 1))
      await factsOf(warehouse, undefined, 'Asia/Kolkata', 'other').refresh()
      expect(await list('select conversation_id from fct_conversation order by 1')).toEqual([
        'c1',
        'c2',
        'c3',
      ])
      expect(await list('select distinct project_id from fct_wait')).toEqual(['main'])
      expect(await list('select time_zone from facts_state order by project_id')).toEqual([
        'Europe/Berlin',
        'Asia/Kolkata',
      ])
    })

    test('two processes that refresh while a third one stores rows lose nothing', async () => {
      const { database, warehouse, mirror, facts } = await openFactsWarehouse(db)
      const others = [await database.open(), await database.open()]
      await mirrorSomeRows(mirror)
      const ids = Array.from({ length: 30 }, (_, n) => `c${n}`)
      const stored = ids.map(async (id) => {
        await mirror.commit(commit('conversations', [conversation(id)]))
        await mirror.commit(readMessages(id, [message(id, 7)]))
      })
      await Promise.all([
        ...stored,
        ...ids.map((_, n) => factsOf(others[n % 2] ?? warehouse).refresh()),
      ])
      const { refreshed, rebuilt } = await refreshAndRebuild(warehouse, facts)
      expect(refreshed.fct_conversation).toHaveLength(30)
      expect(refreshed).toEqual(rebuilt)
    })

    testOnOne(
      db.name,
      'since when the project is mirrored is kept when its first runs are deleted',
      async () => {
        const { warehouse, mirror, facts, one } = await openFactsWarehouse(db)
        await mirror.startRun('full', Date.UTC(2026, 0, 1))
        await facts.refresh()
        await warehouse.query('delete from sync_runs')
        await facts.rebuild()
        expect(await one('select mirrored_since from facts_state')).toEqual({
          mirrored_since: '2026-01-01T00:00:00Z',
        })
      },
    )

    testOnOne(
      db.name,
      'the calendar begins with the year of the earliest row, and has the days of the next year',
      async () => {
        const { mirror, facts, list } = await openFactsWarehouse(db)
        const years = () => list('select distinct year from dim_date order by year')
        await mirrorSomeRows(mirror)
        await facts.refresh()
        const nextYear = new Date().getUTCFullYear() + 1
        // Midnight in UTC on New Year's Day is in the year before in some zones.
        expect((await years())[0]).toBe(2025)
        expect(await years()).toContain(nextYear)
        await mirror.commit(
          readMessages('c1', [message('c1', 9, { created_at: '2019-06-01T00:00:00Z' })]),
        )
        await facts.refresh()
        expect((await years())[0]).toBe(2019)
      },
    )
  })
}
