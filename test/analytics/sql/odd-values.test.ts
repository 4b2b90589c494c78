/**
 * Views over rows that no careful service sends: times of other centuries, and calls with odd
 * fields.
 */
import { expect, test } from 'vitest'
import { toTimestamp } from '../../../src/values/time.ts'
import { databases } from '../../support/databases.ts'
import { activity, call, commit, conversation, message } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { readMessages } from './facts-fixtures.ts'
import { factsOf } from './facts-settings.ts'

const created = (id: string, created_at: string, handled_at: string | null = null) =>
  conversation(id, { created_at, handled_at })

for (const db of databases) {
  test(`what began before the calendar is in the backlog of its first day on — ${db.name}`, async () => {
    const { all, mirror, warehouse } = await openTestWarehouse(db)
    const open = created('open since 1970', '1970-01-01T00:00:00Z')
    const handled = created('handled', '1970-01-01T00:00:00Z', '2025-10-02T10:00:00Z')
    await mirror.commit(
      commit('conversations', [open, handled, created('usual', '2025-10-01T10:00:00Z')]),
    )
    const asked = { sender_type: 'visitor', created_at: '1970-01-01T00:00:00Z' }
    await mirror.commit(readMessages('open since 1970', [message('open since 1970', 1, asked)]))
    await factsOf(warehouse).refresh()
    const days = ['2025-01-01', '2025-10-01', '2025-10-02'].map((day) => `'${day}'`).join()
    const expected = [
      { date: '2025-01-01', opened: 0, handlings: 0, open_at_end: 2, waiting_at_end: 1 },
      { date: '2025-10-01', opened: 1, handlings: 0, open_at_end: 3, waiting_at_end: 1 },
      { date: '2025-10-02', opened: 0, handlings: 1, open_at_end: 2, waiting_at_end: 1 },
    ]
    for (const [view, condition] of [
      ['report_backlog_day', '1 = 1'],
      ['report_day', '1 = 1'],
      ['report_backlog_hour', 'hour = 12'],
    ])
      expect(
        await all(`select date, opened, handlings, open_at_end, waiting_at_end from ${view}
          where date in (${days}) and ${condition} order by date`),
        view,
      ).toEqual(expected)
  })

  test(`quality counts conversations that no week and no month has — ${db.name}`, async () => {
    const { one, mirror, warehouse } = await openTestWarehouse(db)
    const times = ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2025-10-01T10:00:00Z']
    await mirror.commit(
      commit(
        'conversations',
        times.map((time) => created(time, time)),
      ),
    )
    await factsOf(warehouse).refresh()
    expect(
      await one(`select rows_all, rows_wrong from report_quality
        where what = 'conversations outside of the calendar'`),
    ).toEqual({ rows_all: 3, rows_wrong: 2 })
  })

  test(`quality counts calls and activity that no day has — ${db.name}`, async () => {
    const { all, mirror, warehouse } = await openTestWarehouse(db)
    const undated = { occurred_at: null }
    const entry = activity('v1', 'undated')
    await mirror.commit(commit('calls', [call('k1'), call('k2', undated), call('k3', undated)]))
    await mirror.commit(
      commit('visitor_activity', [
        activity('v1', 'dated'),
        { ...entry, columns: { ...entry.columns, occurred_at: null } },
      ]),
    )
    await factsOf(warehouse).refresh()
    expect(
      await all(`select what, rows_all, rows_wrong from report_quality
        where what in ('activity without a time', 'calls without a time') order by what`),
    ).toEqual([
      { what: 'activity without a time', rows_all: 2, rows_wrong: 1 },
      { what: 'calls without a time', rows_all: 3, rows_wrong: 2 },
    ])
  })

  test(`a call that took less than no time has no known length — ${db.name}`, async () => {
    const { all, one, mirror, warehouse } = await openTestWarehouse(db)
    const at = { occurred_at: '2025-10-26T01:30:00Z' }
    await mirror.commit(
      commit('calls', [
        call('ends early', at, { endedAt: '2025-10-26T01:20:00Z' }),
        call('negative', at, { durationSeconds: -5 }),
        call('none', at, { durationSeconds: 0 }),
      ]),
    )
    await factsOf(warehouse).refresh()
    expect(await all('select call_id, seconds from fct_call order by call_id')).toEqual([
      { call_id: 'ends early', seconds: null },
      { call_id: 'negative', seconds: null },
      { call_id: 'none', seconds: 0 },
    ])
    expect(await one('select calls, with_length, seconds from report_call_day')).toEqual({
      calls: 3,
      with_length: 1,
      seconds: 0,
    })
  })

  test(`a call ends in the second that it names: in any year, and whatever follows the second — ${db.name}`, async () => {
    const { all, mirror, warehouse } = await openTestWarehouse(db)
    const ends = {
      century: '2000-02-29T12:00:00Z',
      'no leap year': '2100-02-29T12:00:00Z',
      nanoseconds: '2025-10-26T01:59:59.999999999Z',
    }
    const calls = Object.entries(ends).map(([id, endedAt]) => call(id, {}, { endedAt }))
    await mirror.commit(commit('calls', calls))
    await factsOf(warehouse).refresh()
    expect(await all('select call_id, ended_at from fct_call order by call_id')).toEqual([
      { call_id: 'century', ended_at: '2000-02-29T12:00:00Z' },
      { call_id: 'nanoseconds', ended_at: '2025-10-26T01:59:59Z' },
      { call_id: 'no leap year', ended_at: null },
    ])
  })

  test(`a call of a year that the calendar does not have has neither a day nor an hour — ${db.name}`, async () => {
    const { one, mirror, warehouse } = await openTestWarehouse(db)
    const times = ['2025-06-01T00:00:00Z', '2100-06-01T00:00:00Z']
    await mirror.commit(
      commit(
        'calls',
        times.map((occurred_at) => call(occurred_at, { occurred_at })),
      ),
    )
    await factsOf(warehouse).refresh()
    const ofLate = `from fct_call where call_id = '${times[1]}'`
    expect(await one(`select started_date, started_hour ${ofLate}`)).toEqual({
      started_date: null,
      started_hour: null,
    })
  })

  test(`a typical week counts what happened on its days, and nothing that is dated ahead — ${db.name}`, async () => {
    const { one, mirror, warehouse } = await openTestWarehouse(db)
    const now = Date.now()
    const inDays = (days: number) => toTimestamp(now + days * 86_400_000)
    const ids = [0, 7, 14].map((days) => ({ id: `in ${days} days`, at: inDays(days) }))
    await mirror.commit(
      commit(
        'conversations',
        ids.map(({ id, at }) => created(id, at)),
      ),
    )
    for (const { id, at } of ids)
      await mirror.commit(
        readMessages(id, [message(id, 1, { sender_type: 'visitor', created_at: at })]),
      )
    await factsOf(warehouse).refresh()
    expect(
      await one(
        'select sum(waits_started * hours) as waits, sum(hours) as hours from report_week_hour',
      ),
    ).toEqual({ waits: 1, hours: 24 })
  })

  test(`texts of calls are the same in both databases, and objects are none — ${db.name}`, async () => {
    const { all, mirror, warehouse } = await openTestWarehouse(db)
    await mirror.commit(
      commit('calls', [
        call('flags', {}, { visitorId: true, outcome: false }),
        call('numbers', {}, { visitorId: 7, outcome: 1.5 }),
        call(
          'others',
          {},
          { visitorId: { id: 1 }, visitor: { id: 'v1' }, outcome: ['busy'], status: 'busy' },
        ),
      ]),
    )
    await factsOf(warehouse).refresh()
    expect(await all('select call_id, visitor_id, outcome from fct_call order by call_id')).toEqual(
      [
        { call_id: 'flags', visitor_id: 'true', outcome: 'false' },
        { call_id: 'numbers', visitor_id: '7', outcome: '1.5' },
        { call_id: 'others', visitor_id: 'v1', outcome: 'busy' },
      ],
    )
  })
}
