/** What a report reads: exact over its period, within it, and of one project. */

import { expect } from 'vitest'
import { chooseReportPeriod, type DateRange } from '../../../src/analytics/core/report-period.ts'
import type { ReportData } from '../../../src/analytics/sql/report-data.ts'
import { readReportData } from '../../../src/analytics/sql/report-data.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { commit, conversation, message } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { readMessages } from './facts-fixtures.ts'
import { factsOf, settings } from './facts-settings.ts'
import { openViewsWarehouse } from './view-fixtures.ts'

const testOnOne = createTestOnOne()

const wednesday = Date.UTC(2025, 10, 5)

async function read(
  warehouse: Warehouse,
  dates: Partial<DateRange> = {},
  project = 'main',
  wholeUntil?: string,
): Promise<ReportData> {
  const data = await readReportData(warehouse.db, warehouse.kind, project, wednesday, (today) =>
    chooseReportPeriod(dates, today, wholeUntil),
  )
  if (data === null) throw new Error('the project has no facts')
  return data
}

for (const db of databases) {
  testOnOne(
    db.name,
    `a report counts what happened in its week, and in the week before, in which the clocks changed — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      const { period, today, firstDate, hasBusinessHours, current, before, project } =
        await read(warehouse)
      expect({ period, today, firstDate, hasBusinessHours }).toEqual({
        period: {
          from: '2025-10-27',
          to: '2025-11-02',
          whole: { from: '2025-10-27', to: '2025-11-02' },
          before: { from: '2025-10-20', to: '2025-10-26' },
        },
        today: '2025-11-05',
        firstDate: '2025-03-30',
        hasBusinessHours: true,
      })
      expect(project).toEqual({
        timeZone: 'Europe/Berlin',
        mirroredSince: '2025-10-27T00:00:00Z',
        asOf: null,
        callsAsOf: null,
        factsDue: 0,
        isRebuilding: false,
      })
      expect(current.counts).toEqual({
        started: 3,
        incomplete: 1,
        aiOnly: 1,
        humanAndAi: 0,
        waits: 3,
        answeredByHuman: 0,
        answeredByAi: 1,
        closedWithoutAnswer: 0,
        ongoingWaits: 2,
        visitorMessages: 3,
        humanMessages: 1,
        aiMessages: 1,
        opened: 3,
        reopenings: 0,
        handlings: 1,
      })
      expect(before.counts).toMatchObject({
        started: 2,
        aiOnly: 0,
        humanAndAi: 1,
        waits: 4,
        answeredByHuman: 3,
        answeredByAi: 1,
        ongoingWaits: 0,
        visitorMessages: 4,
        humanMessages: 2,
        aiMessages: 1,
        opened: 2,
        reopenings: 0,
        handlings: 1,
      })
      expect([current.levels, before.levels]).toEqual([
        { openAtEnd: 3, waitingAtEnd: 2 },
        { openAtEnd: 1, waitingAtEnd: 1 },
      ])
      expect(current.targets).toEqual([
        {
          name: 'first answer',
          targetSeconds: 900,
          hours: 'all',
          waits: 2,
          met: 1,
          missed: 0,
          open: 1,
          without: 0,
          metShare: 1,
        },
      ])
      expect(before.calls).toEqual({
        calls: 4,
        callers: 2,
        withRecording: 1,
        withLength: 1,
        seconds: 1800,
        medianSeconds: 1800,
      })
      expect(current.calls).toMatchObject({ calls: 0, seconds: 0, medianSeconds: null })
    },
  )

  testOnOne(
    db.name,
    `the first answer is that of the first question that was answered, but a target judges the first wait — ${db.name}`,
    async () => {
      const { warehouse, mirror } = await openTestWarehouse(db)
      await mirror.startRun('full', Date.UTC(2025, 9, 27))
      const said = [
        ['visitor', '2025-10-27T08:00:00Z'],
        ['visitor', '2025-10-28T10:00:00Z'],
        ['agent', '2025-10-28T10:05:00Z'],
        ['visitor', '2025-10-28T11:00:00Z'],
        ['agent', '2025-10-28T12:00:00Z'],
      ]
      for (const handled_at of ['2025-10-27T09:00:00Z', null])
        await mirror.commit(
          commit('conversations', [
            conversation('c1', { created_at: said[0]?.[1] ?? null, handled_at }),
          ]),
        )
      const rows = said.map(([sender_type = '', created_at = ''], n) =>
        message('c1', n + 1, { sender_type, created_at }),
      )
      await mirror.commit(readMessages('c1', rows))
      const target = {
        name: 'first',
        clock: 'human',
        which: 'first',
        withinSeconds: 900,
        inBusinessHours: false,
      } as const
      await factsOf(warehouse, {
        ...settings,
        targets: [{ ...target, from: null, to: null }],
      }).refresh()
      const { responseTimes, targets } = (await read(warehouse)).current
      for (const row of responseTimes.filter(
        ({ which, hours }) => which === 'first' && hours === 'all',
      ))
        expect(row).toMatchObject({ answers: 1, medianSeconds: 300 })
      expect(targets).toEqual([
        {
          name: 'first',
          targetSeconds: 900,
          hours: 'all',
          waits: 1,
          met: 0,
          missed: 0,
          open: 0,
          without: 1,
          metShare: null,
        },
      ])
    },
  )

  testOnOne(
    db.name,
    `response times are percentiles of all waits of the period — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      const { current, before } = await read(warehouse)
      const timesOf = (
        { responseTimes }: ReportData['current'],
        which: string,
        clock: string,
        hours = 'all',
      ) =>
        responseTimes
          .filter((row) => row.which === which && row.clock === clock && row.hours === hours)
          .map(({ answers, medianSeconds, p90Seconds }) => [answers, medianSeconds, p90Seconds])
      expect(timesOf(before, 'every', 'human')).toEqual([[3, 2400, 111_000]])
      expect(timesOf(before, 'first', 'human')).toEqual([[2, 55_800, 111_000]])
      expect(timesOf(before, 'every', 'any')).toEqual([[4, 1500, 110_880]])
      expect(timesOf(before, 'first', 'any')).toEqual([[2, 302.5, 600]])
      expect(timesOf(before, 'every', 'human', 'business')).toEqual([[3, 0, 0]])
      expect(timesOf(current, 'every', 'human')).toEqual([[0, null, null]])
      expect(timesOf(current, 'every', 'any')).toEqual([[1, 4, 4]])
      expect(current.agents).toEqual([
        {
          name: 'Ann',
          messages: 1,
          conversations: 1,
          answers: 1,
          medianSeconds: 111_000,
          p90Seconds: 111_000,
        },
      ])
      expect(before.agents).toEqual([
        {
          name: 'Ann',
          messages: 2,
          conversations: 1,
          answers: 2,
          medianSeconds: 1500,
          p90Seconds: 2400,
        },
      ])
    },
  )

  testOnOne(
    db.name,
    `incomplete conversations count, but have no response times — ${db.name}`,
    async () => {
      const { warehouse, all } = await openViewsWarehouse(db)
      await all("update fct_conversation set is_complete = false where conversation_id = 'by both'")
      const { current, before } = await read(warehouse)
      expect(before.counts).toMatchObject({ started: 2, incomplete: 1, waits: 4 })
      const every = before.responseTimes.find(
        ({ which, clock }) => which === 'every' && clock === 'human',
      )
      expect(every).toMatchObject({ answers: 2, medianSeconds: 1500, p90Seconds: 2400 })
      expect(current.agents).toMatchObject([
        { name: 'Ann', messages: 1, answers: 0, medianSeconds: null },
      ])
    },
  )

  testOnOne(
    db.name,
    `its medians are those of the view by week, where the period is a week — ${db.name}`,
    async () => {
      const { warehouse, all } = await openViewsWarehouse(db)
      const { responseTimes } = (await read(warehouse, { from: '2025-10-20' })).current
      const weeks = await all(
        "select * from report_answer_week where week = '2025-10-20' order by clock desc, hours",
      )
      const every = responseTimes.filter(({ which }) => which === 'every')
      expect(
        every.map(({ clock, hours, ...row }) => [clock, hours, ...Object.values(row).slice(1)]),
      ).toEqual(
        weeks.map((row) => [
          row.clock,
          row.hours,
          row.answers,
          row.median_seconds,
          row.p90_seconds,
        ]),
      )
    },
  )

  testOnOne(
    db.name,
    `days, hours and the queue are those of the project — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      const { days, hours, queue } = await read(warehouse)
      const numbers = days
        .slice(-7)
        .map((day) => [
          day.date,
          day.started,
          day.waits,
          day.handlings,
          day.openAtEnd,
          day.waitingAtEnd,
        ])
      expect(numbers).toEqual([
        ['2025-10-27', 0, 1, 0, 1, 1],
        ['2025-10-28', 1, 1, 1, 1, 1],
        ['2025-10-29', 2, 1, 0, 3, 2],
        ['2025-10-30', 0, 0, 0, 3, 2],
        ['2025-10-31', 0, 0, 0, 3, 2],
        ['2025-11-01', 0, 0, 0, 3, 2],
        ['2025-11-02', 0, 0, 0, 3, 2],
      ])
      expect(hours).toEqual([
        { weekday: 1, hour: 9, waits: 1 },
        { weekday: 2, hour: 10, waits: 1 },
        { weekday: 3, hour: 0, waits: 1 },
      ])
      expect(queue).toMatchObject({
        open: 3,
        waiting: 2,
        longest: [
          {
            conversationId: 'by both',
            visitorName: 'Bo',
            agent: 'Ann',
            waitingSince: '2025-10-27T08:05:00Z',
          },
          {
            conversationId: 'unanswered',
            visitorName: 'Bo',
            agent: 'Ann',
            waitingSince: '2025-10-28T23:30:00Z',
          },
        ],
      })
      // The hour that the clock shows twice.
      expect((await read(warehouse, { to: '2025-10-26' })).hours).toEqual([
        { weekday: 7, hour: 2, waits: 4 },
      ])
    },
  )

  testOnOne(
    db.name,
    `the waits of the hours are those that the report counts, while the last days are not over — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      const { hours, current } = await read(warehouse, {}, 'main', '2025-10-29')
      expect(current.counts.waits).toBe(2)
      expect(hours.map(({ waits }) => waits)).toEqual([1, 1])
    },
  )

  testOnOne(
    db.name,
    `a report names the assigned agent only where most conversations show that name, and a visitor without one by the address — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      await warehouse.query(
        'update fct_conversation set last_human_name = conversation_id where last_human_name is not null',
      )
      await warehouse.query("update visitors set name = ' '")
      const { queue } = await read(warehouse)
      expect(queue.longest[0]).toMatchObject({ visitorName: 'bo@example.com', agent: 'agent 1' })
    },
  )

  testOnOne(
    db.name,
    `a report names no visitor if the settings leave out personal data — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db, false)
      const { queue } = await read(warehouse)
      expect(queue.longest.map(({ visitorName }) => visitorName)).toEqual([null, null])
    },
  )

  testOnOne(
    db.name,
    `a period without data, before all or after all, has zeros and no medians — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      for (const from of ['1985-01-01', '2025-12-01']) {
        const { current } = await read(warehouse, { from })
        expect(new Set(Object.values(current.counts)), from).toEqual(new Set([0]))
        expect(
          current.responseTimes.map(({ medianSeconds }) => medianSeconds),
          from,
        ).toEqual(Array(8).fill(null))
      }
    },
  )

  testOnOne(
    db.name,
    `open round the clock, a project has no business hours, also on days on which the clocks change — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      await factsOf(warehouse, { ...settings, hours: null }).refresh()
      expect(
        (await read(warehouse, { from: '2025-10-20', to: '2025-10-26' })).hasBusinessHours,
      ).toBe(false)
      expect(
        (await read(warehouse, { from: '2025-03-24', to: '2025-03-30' })).hasBusinessHours,
      ).toBe(false)
    },
  )

  testOnOne(
    db.name,
    `another project changes nothing, and one without facts has no report — ${db.name}`,
    async () => {
      const { warehouse } = await openViewsWarehouse(db)
      const alone = await read(warehouse)
      const other = openMirror(warehouse, 'other')
      await other.startRun('full', Date.UTC(2025, 9, 27))
      await other.commit(
        commit('conversations', [conversation('by human', { created_at: '2025-10-28T09:00:00Z' })]),
      )
      const said = { sender_type: 'visitor', created_at: '2025-10-28T09:00:00Z' }
      await other.commit(readMessages('by human', [message('by human', 1, said)]))
      expect(
        await readReportData(warehouse.db, warehouse.kind, 'other', wednesday, (today) =>
          chooseReportPeriod({}, today),
        ),
      ).toBeNull()
      await factsOf(warehouse, settings, 'Asia/Tokyo', 'other').refresh()
      const { current, before } = await read(warehouse)
      expect({ current, before }).toEqual({ current: alone.current, before: alone.before })
      const { project, current: ofOther } = await read(warehouse, {}, 'other')
      expect(project.timeZone).toBe('Asia/Tokyo')
      expect(ofOther).toMatchObject({ counts: { started: 1, waits: 1 }, targets: [] })
    },
  )

  testOnOne(db.name, `an empty warehouse has no report — ${db.name}`, async () => {
    const { warehouse } = await openTestWarehouse(db)
    expect(
      await readReportData(warehouse.db, warehouse.kind, 'main', wednesday, (today) =>
        chooseReportPeriod({}, today),
      ),
    ).toBeNull()
  })
}
