/**
 * The tables about a period: the numbers of the report and of the views, and the conversations
 * behind each.
 */
import { expect, test } from 'vitest'
import { chooseReportPeriod } from '../../../src/analytics/core/report-period.ts'
import { readAgentNames, readPeriodTable } from '../../../src/analytics/sql/read-period-table.ts'
import { readReportData } from '../../../src/analytics/sql/report-data.ts'
import {
  type PeriodTableName,
  periodTables,
} from '../../../src/analytics/views/all-period-pages.ts'
import { type PeriodTable, quote, where } from '../../../src/analytics/views/period-table.ts'
import { readCountedConversations } from '../../../src/console/sql/counted-conversations.ts'
import { databases } from '../../support/databases.ts'
import { openViewsWarehouse } from './view-fixtures.ts'

const both = { from: '2025-10-20', to: '2025-11-02' }
const names = Object.keys(periodTables) as PeriodTableName[]

test('only a quoted text fits into a condition', () => {
  const day = quote('2026-01-01')
  const within = { project: quote('main'), from: day, to: day, agent: quote("O'Neil") }
  expect(where(within, 'w.', 'date', 'name')).toBe(
    "w.project_id = 'main' and w.date between '2026-01-01' and '2026-01-01' and w.name = 'O''Neil'",
  )
  // @ts-expect-error: it is not quoted.
  where({ ...within, agent: "O'Neil" }, 'w.', 'date', 'name')
})

for (const db of databases) {
  test(`a period has the numbers that the report has of it — ${db.name}`, async () => {
    const { warehouse } = await openViewsWarehouse(db)
    const context = warehouse.projectDb('main')
    const read = (name: PeriodTableName, agent: string | null = null) =>
      readPeriodTable(context, name, { ...both, agent })
    const data = await readReportData(
      warehouse.db,
      warehouse.kind,
      'main',
      Date.UTC(2025, 10, 5),
      (today) => chooseReportPeriod(both, today),
    )
    const { counts, agents, targets, calls } = data!.current
    const sum = (rows: readonly Readonly<Record<string, unknown>>[], column: string) =>
      rows.reduce((total, row) => total + Number(row[column]), 0)

    const ofAgents = await read('agents')
    expect(
      ofAgents.rows.map((row) => [
        row.agent_name,
        row.messages,
        row.answers,
        row.answer_p90_seconds,
      ]),
    ).toEqual(
      agents.map(({ name, messages, answers, p90Seconds }) => [
        name,
        messages,
        answers,
        p90Seconds,
      ]),
    )
    expect(sum(ofAgents.days, 'messages')).toBe(sum(ofAgents.rows, 'messages'))
    expect(ofAgents.total).toMatchObject({
      messages: sum(agents, 'messages'),
      answers: sum(agents, 'answers'),
    })
    const ofTargets = await read('targets')
    expect(ofTargets.rows).toMatchObject(
      targets.map(({ name, targetSeconds, metShare, ...others }) => {
        return { sla: name, target_seconds: targetSeconds, met_share: metShare, ...others }
      }),
    )
    for (const outcome of ['met', 'missed', 'open', 'without'] as const)
      expect([outcome, sum(ofTargets.days, outcome)]).toEqual([outcome, sum(targets, outcome)])
    const ai = await read('ai')
    expect(ai.total).toMatchObject({ conversations: counts.started, ai_only: counts.aiOnly })
    expect(ai.rows).toHaveLength(new Set(ai.days.map(({ date }) => date)).size)
    expect(sum(ai.rows, 'handed_over')).toBe(counts.humanAndAi)
    const hours = await read('hours')
    expect(sum(hours.rows, 'waits_started')).toBe(counts.waits)
    expect(
      hours.rows
        .filter(({ waits_started }) => waits_started !== 0)
        .map((row) => [row.weekday, row.hour, row.waits_started])
        .sort(),
    ).toEqual(data!.hours.map((row) => [row.weekday, row.hour, row.waits]).sort())
    expect(sum((await read('calls')).rows, 'calls')).toBe(calls.calls)
  })

  test(`the hours of a period are all there, also those in which nothing happened — ${db.name}`, async () => {
    const { warehouse } = await openViewsWarehouse(db)
    const read = (from: string, to: string) =>
      readPeriodTable(warehouse.projectDb('main'), 'hours', { from, to, agent: null })
    const { rows } = await read(both.from, both.to)
    const each = [1, 2, 3, 4, 5, 6, 7].flatMap((day) =>
      Array.from({ length: 24 }, (_, hour) => `${day} ${hour}`),
    )
    expect(rows.map(({ weekday, hour }) => `${weekday} ${hour}`).toSorted()).toEqual(
      each.toSorted(),
    )
    expect(
      rows.some(({ waits_started, human_answers }) => waits_started === 0 && human_answers === 0),
    ).toBe(true)
    const days = await Promise.all(
      Array.from({ length: 7 }, (_, n) => `2025-10-${20 + n}`).map((date) => read(date, date)),
    )
    const counted = days.map((day, n) => ({ n, weekdays: day.rows.map(({ weekday }) => weekday) }))
    const known = counted.filter(({ weekdays }) => weekdays.length > 0)
    expect(known.length).toBeGreaterThan(0)
    for (const { n, weekdays } of known)
      expect(weekdays).toEqual(Array.from({ length: 24 }, () => n + 1))
    expect((await read('1999-01-01', '1999-01-31')).rows).toEqual([])
  })

  test(`an agent narrows each table to that agent, and a name that nobody has to nothing — ${db.name}`, async () => {
    const { warehouse } = await openViewsWarehouse(db)
    const context = warehouse.projectDb('main')
    const [agent = ''] = await readAgentNames(context, both, 'agents')
    expect(agent).not.toBe('')
    const { rows } = await readPeriodTable(context, 'agents', { ...both, agent })
    expect(rows.map((row) => row.agent_name)).toEqual([agent])
    for (const name of ['agents', 'targets', 'ai', 'calls'] as const) {
      const nobody = await readPeriodTable(context, name, { ...both, agent: `x' or '1' = '1\0` })
      expect([name, nobody.rows, nobody.days]).toEqual([name, [], []])
    }
  })

  test(`each number leads to the conversations that it counts — ${db.name}`, async () => {
    const { warehouse } = await openViewsWarehouse(db)
    const context = warehouse.projectDb('main')
    let compared = 0
    for (const name of names) {
      const { counted, split, key }: PeriodTable = periodTables[name]
      const { days, rows } = await readPeriodTable(context, name, { ...both, agent: null })
      const filter = { table: name, agent: null, column: null, key: {} }
      for (const day of days)
        for (const column of Object.keys(counted).filter((one) => one in day)) {
          const range = { from: String(day.date), to: String(day.date) }
          const ofSplit = split === undefined ? {} : { [split]: String(day[split]) }
          const found = await readCountedConversations(
            context,
            { ...filter, ...range, column, key: ofSplit },
            null,
          )
          const count = Number(day[column])
          // One conversation may have several waits and messages of a day.
          expect([name, column, day.date, found.total > 0]).toEqual([
            name,
            column,
            day.date,
            count > 0,
          ])
          expect(found.total).toBeLessThanOrEqual(Math.max(count, name === 'calls' ? 99 : 0))
          const isOfConversations =
            name === 'ai' || /^(started|open_at_end|waiting_at_end)$/.test(column)
          if (isOfConversations)
            expect([column, day.date, found.total]).toEqual([column, day.date, count])
          compared += 1
        }
      for (const { agent_name: agent, conversations } of name === 'agents' ? rows : []) {
        const ofAgent = { ...filter, ...both, agent: String(agent), column: 'conversations' }
        expect([agent, (await readCountedConversations(context, ofAgent, null)).total]).toEqual([
          agent,
          conversations,
        ])
      }
      for (const row of name === 'hours' ? rows : []) {
        const cell = Object.fromEntries(key.map((column) => [column, String(row[column])]))
        const found = await readCountedConversations(
          context,
          { ...filter, ...both, column: 'waits_started', key: cell },
          null,
        )
        expect([row, found.total > 0]).toEqual([row, row.waits_started !== 0])
      }
    }
    expect(compared).toBeGreaterThan(10)
    const monday = {
      table: 'hours',
      agent: null,
      column: null,
      key: { weekday: 'Monday' },
    } as const
    expect((await readCountedConversations(context, { ...monday, ...both }, null)).total).toBe(0)
  })
}

test('every column of a table is one of its view, and is explained there', () => {
  for (const [name, { view, columns, key }] of Object.entries<PeriodTable>(periodTables)) {
    const unknown = Object.keys(columns).filter(
      (column) => !key.includes(column) && !(column in view.columns),
    )
    expect([name, unknown]).toEqual([name, []])
  }
})
