/** The views for analysts: the same names, columns and numbers on every database. */

import { expect, test } from 'vitest'
import { columnTypes } from '../../../schema/column-types.ts'
import {
  analystObjects,
  analyticsObjects,
  analyticsViews,
} from '../../../src/analytics/views/all-views.ts'
import { sqlDialects } from '../../../src/analytics/views/sql-dialect.ts'
import type { AnalyticsView } from '../../../src/analytics/views/view-spec.ts'
import { analyzeAllTables } from '../../../src/warehouse/statistics.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { activity, commit, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { factsOf, settings } from './facts-settings.ts'
import { openViewsWarehouse } from './view-fixtures.ts'

const testOnOne = createTestOnOne('postgres')

const views = Object.entries<AnalyticsView>(analyticsViews)

for (const db of databases) {
  testOnOne(
    db.name,
    `every view has the described columns in their order, and no rows in an empty warehouse — ${db.name}`,
    async () => {
      const { all, database } = await openTestWarehouse(db)
      for (const [name, { columns }] of views) {
        const found =
          database.kind === 'sqlite'
            ? await all(`select name from pragma_table_info('${name}') order by cid`)
            : await all(`select column_name as name, data_type as type from information_schema.columns
              where table_schema = current_schema() and table_name = '${name}' order by ordinal_position`)
        expect(
          found.map((column) => column.name),
          name,
        ).toEqual(Object.keys(columns))
        for (const { name: column, type } of database.kind === 'postgres' ? found : []) {
          const described = columnTypes[columns[String(column)]?.type ?? 'text'].postgres.replace(
            / collate.*/,
            '',
          )
          expect(
            String(type).replace('timestamp with time zone', 'timestamptz'),
            `${name}.${column}`,
          ).toBe(described)
        }
        expect(await all(`select * from ${name}`), name).toHaveLength(name === 'dim_hour' ? 24 : 0)
      }
    },
  )

  testOnOne(
    db.name,
    `no row lacks what is not optional, and keys are unique — ${db.name}`,
    async () => {
      const { all } = await openViewsWarehouse(db)
      for (const { name, key, columns } of analystObjects) {
        const rows = await all(`select * from ${name}`)
        const required = Object.keys(columns).filter(
          (column) => columns[column]?.isNullable === false,
        )
        const keyList = key.join(', ')
        const duplicates = await all(
          `select ${keyList} from ${name} group by ${keyList} having count(*) > 1`,
        )
        expect(
          rows.filter((row) => required.some((column) => row[column] === null)),
          name,
        ).toEqual([])
        expect(duplicates, name).toEqual([])
        expect(rows.length > 0, name).toBe(name !== 'report_freshness')
      }
    },
  )

  testOnOne(db.name, `the parts add up to the whole — ${db.name}`, async () => {
    const { one, all } = await openViewsWarehouse(db)
    const { waits, parts, conversations, open, waiting } = await one(`select
      (select count(*) from fct_wait) as waits,
      (select sum(answered_by_human + answered_by_ai + closed_without_answer + ongoing_waits) from report_wait_day) as parts,
      (select count(*) from fct_conversation) as conversations,
      (select count(*) from fct_conversation where is_open) as open,
      (select count(*) from fct_conversation where waiting_since is not null) as waiting`)
    expect({ waits, parts: Number(parts) }).toEqual({ waits: 8, parts: 8 })
    const cohorts = await one(`select sum(started) as started,
      sum(unanswered_conversations + ai_only + human_and_ai + human_only) as parts, sum(incomplete) as incomplete
      from report_conversation_day`)
    expect(toNumbers(cohorts)).toEqual({
      started: Number(conversations),
      parts: Number(conversations),
      incomplete: 1,
    })
    for (const backlog of ['report_backlog_day', 'report_backlog_hour', 'report_day']) {
      const order = backlog === 'report_backlog_hour' ? 'date desc, hour desc' : 'date desc'
      const [last] = await all(
        `select open_at_end, waiting_at_end from ${backlog} order by ${order} limit 1`,
      )
      expect(last, backlog).toEqual({ open_at_end: open, waiting_at_end: waiting })
    }
    const messages = await one(`select (select sum(messages) from report_message_hour) as by_hour,
      (select sum(messages) from fct_contribution) as by_contribution,
      (select sum(messages) from fct_conversation) as in_all`)
    expect(toNumbers(messages)).toEqual({ by_hour: 14, by_contribution: 14, in_all: 14 })
    const [day] =
      await all(`select d.waits, w.waits as same, d.human_answer_median_seconds, a.median_seconds
      from report_day d join report_wait_day w on w.project_id = d.project_id and w.date = d.date
      join report_answer_day a on a.project_id = d.project_id and a.date = d.date and clock = 'human' and hours = 'all'
      where d.date = '2025-10-26'`)
    expect(day?.waits).toBe(day?.same)
    expect(day?.human_answer_median_seconds).toBe(day?.median_seconds)
  })

  testOnOne(db.name, `as_of can be joined to every object — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    for (const { name } of analyticsObjects.filter(({ columns }) => 'project_id' in columns)) {
      const rows = await all(
        `select p.as_of from ${name} o join dim_project p on p.project_id = o.project_id`,
      )
      const [count] = await all(`select count(*) as n from ${name}`)
      expect(rows, name).toHaveLength(Number(count?.n))
    }
  })

  testOnOne(
    db.name,
    `as_of is the oldest complete sync of what the facts rest on — ${db.name}`,
    async () => {
      const { one, all } = await openViewsWarehouse(db)
      const stored = (stream: string, at: string) =>
        all(
          `insert into sync_streams (project_id, stream, synced_at) values ('main', '${stream}', '${at}')`,
        )
      expect(await one('select as_of, is_rebuilding from dim_project')).toMatchObject({
        as_of: null,
      })
      await stored('conversations', '2025-11-02T00:00:00Z')
      expect(await one('select as_of from dim_project')).toEqual({ as_of: null })
      await stored('messages', '2025-11-01T00:00:00Z')
      await stored('visitor_activity', '2025-10-01T00:00:00Z')
      const { as_of, visits_as_of, facts_due, time_zone } = await one('select * from dim_project')
      expect({ as_of, visits_as_of, facts_due, time_zone }).toEqual({
        as_of: '2025-11-01T00:00:00Z',
        visits_as_of: '2025-10-01T00:00:00Z',
        facts_due: 0,
        time_zone: 'Europe/Berlin',
      })
    },
  )

  testOnOne(
    db.name,
    `the hour that the clock shows twice is one row, and the hour that it skips is none — ${db.name}`,
    async () => {
      const { all, list } = await openViewsWarehouse(db)
      const hours = (date: string) =>
        list(`select hour from report_backlog_hour where date = '${date}' order by hour`)
      const wholeDay = Array.from({ length: 24 }, (_, hour) => hour)
      expect(await hours('2025-10-26')).toEqual(wholeDay)
      expect(await hours('2025-10-27')).toEqual(wholeDay)
      expect(await hours('2025-03-30')).toEqual(wholeDay.filter((hour) => hour !== 2))
      expect(
        await all(`select hour, role, messages from report_message_hour
        where date = '2025-10-26' order by hour, role`),
      ).toEqual([
        { hour: 2, role: 'ai', messages: 1 },
        { hour: 2, role: 'human', messages: 1 },
        { hour: 2, role: 'visitor', messages: 4 },
        { hour: 3, role: 'human', messages: 1 },
      ])
      expect(
        await all(`select hour, opened, handlings, open_at_end, waiting_at_end from report_backlog_hour
        where date = '2025-10-26' and hour between 1 and 4 order by hour`),
      ).toEqual([
        { hour: 1, opened: 0, handlings: 0, open_at_end: 0, waiting_at_end: 0 },
        { hour: 2, opened: 2, handlings: 0, open_at_end: 2, waiting_at_end: 2 },
        { hour: 3, opened: 0, handlings: 1, open_at_end: 1, waiting_at_end: 1 },
        { hour: 4, opened: 0, handlings: 0, open_at_end: 1, waiting_at_end: 1 },
      ])
    },
  )

  testOnOne(
    db.name,
    `calls are read by the paths of the settings, else by likely names, whatever they hold — ${db.name}`,
    async () => {
      const { all } = await openViewsWarehouse(db)
      const calls = () =>
        all(
          'select call_id, visitor_id, started_date, started_hour, ended_at, outcome, seconds, direction, agent from fct_call order by 1',
        )
      const common = { started_date: '2025-10-26', started_hour: 2 }
      const unknown = {
        visitor_id: null,
        ...common,
        ended_at: null,
        outcome: null,
        seconds: null,
        direction: null,
        agent: null,
      }
      expect(await calls()).toEqual([
        { call_id: 'hostile', ...unknown },
        { call_id: 'malformed', ...unknown, visitor_id: '7' },
        { call_id: 'other names', ...unknown },
        {
          call_id: 'usual',
          visitor_id: 'v1',
          ...common,
          ended_at: '2025-10-26T02:00:00Z',
          outcome: 'completed',
          seconds: 1800,
          direction: 'inbound',
          agent: 'Ann',
        },
      ])
      await all(
        "update call_fields set visitor = 'who.id', duration = 'tookSeconds', direction = 'way.out'",
      )
      expect(
        (await calls()).map(({ visitor_id, seconds, direction }) => [
          visitor_id,
          seconds,
          direction,
        ]),
      ).toEqual([
        [null, null, null],
        [null, null, null],
        ['v2', 61, 'true'],
        [null, 1800, null],
      ])
      expect(
        await all(
          'select calls, callers, with_recording, with_length, seconds from report_call_day',
        ),
      ).toEqual([{ calls: 4, callers: 1, with_recording: 1, with_length: 2, seconds: 1861 }])
    },
  )

  testOnOne(
    db.name,
    `a conversation leads to the visit that it began in — ${db.name}`,
    async () => {
      const { all } = await openViewsWarehouse(db)
      expect(
        await all(`select conversation_id, entries, seconds_before from report_contact
        where visit_number is not null order by conversation_id`),
      ).toEqual([{ conversation_id: 'by human', entries: 2, seconds_before: 1200 }])
    },
  )

  testOnOne(
    db.name,
    `a typical week has each hour of each weekday, also without an event — ${db.name}`,
    async () => {
      const { all } = await openViewsWarehouse(db)
      const hours = await all(
        'select weekday, hour, waits_started, agents_online from report_week_hour',
      )
      expect(new Set(hours.map(({ weekday, hour }) => `${weekday} ${hour}`)).size).toBe(7 * 24)
      expect(hours).toHaveLength(7 * 24)
      expect(
        hours.find(({ weekday, hour }) => Number(weekday) === 6 && Number(hour) === 4),
      ).toMatchObject({
        waits_started: 0,
        agents_online: null,
      })
      expect(hours.filter(({ waits_started }) => Number(waits_started) > 0).length).toBeGreaterThan(
        3,
      )
    },
  )

  testOnOne(
    db.name,
    `answers of an hour in which nobody was online are not those of agents — ${db.name}`,
    async () => {
      const { all } = await openViewsWarehouse(db)
      await all(`insert into fct_availability_hour
        (project_id, date, hour, snapshots, observed_seconds, available_seconds, agent_seconds)
      values ('main', '2025-10-27', 9, 1, 3600, 0, 0), ('main', '2025-10-27', 15, 1, 3600, 3600, 3600)`)
      expect(
        await all(`select human_answers, human_answers_per_agent_hour as per_hour from report_workload_day
        where date = '2025-10-27'`),
      ).toMatchObject([{ human_answers: 1, per_hour: 0 }])
    },
  )

  testOnOne(
    db.name,
    `pages that someone visited are left out with names and addresses — ${db.name}`,
    async () => {
      const { all, mirror, warehouse } = await openTestWarehouse(db)
      await mirror.startRun('full', Date.UTC(2025, 9, 27))
      const entry = activity('v1', 'one')
      const item = { url: 'https://shop.example/orders?mail=bo@example.com' }
      const columns = {
        visitor_id: 'v1',
        entry_hash: 'one',
        ordinal: 0,
        occurred_at: '2025-10-26T00:10:00Z',
      }
      await mirror.commit(commit('visitor_activity', [{ ...entry, columns, item }]))
      const fields = { activityKind: null, activityPage: 'url' }
      const pages = async (personalData: boolean) => {
        await factsOf(warehouse, { ...settings, fields, personalData }).refresh()
        return all('select first_page, last_page from fct_visit')
      }
      expect(await pages(true)).toEqual([{ first_page: item.url, last_page: item.url }])
      expect(await pages(false)).toEqual([{ first_page: null, last_page: null }])
    },
  )

  testOnOne(db.name, `names and addresses of visitors are shown — ${db.name}`, async () => {
    const { all } = await openViewsWarehouse(db)
    const bo = { name: 'Bo', email: 'bo@example.com' }
    expect(
      await all("select name, email from dim_visitor where visitor_id = 'v1' and has_email"),
    ).toEqual([bo])
    expect(
      await all(`select visitor_name as name, visitor_email as email from report_open
        where conversation_id = 'unanswered'`),
    ).toEqual([bo])
  })

  testOnOne(db.name, `quality says what is left out, and why — ${db.name}`, async () => {
    const { all, mirror } = await openViewsWarehouse(db)
    await mirror.commit(commit('visitors', [visitor('v3')]))
    await all("update visitors set deleted_at = '2025-11-01T00:00:00Z' where id = 'v3'")
    // The list of visitors does not show the one of this conversation.
    await all("update fct_conversation set visitor_id = 'v4' where conversation_id = 'by the AI'")
    const found = await all(
      'select what, rows_all, rows_wrong from report_quality where rows_wrong > 0 order by what',
    )
    expect(found).toEqual([
      { what: 'calls without a visitor', rows_all: 4, rows_wrong: 2 },
      { what: 'conversations of visitors who are not here', rows_all: 6, rows_wrong: 1 },
      { what: 'deleted visitors', rows_all: 3, rows_wrong: 1 },
      { what: 'history before the mirror', rows_all: 6, rows_wrong: 3 },
      { what: 'incomplete conversations', rows_all: 6, rows_wrong: 1 },
      { what: 'unknown sender types', rows_all: 14, rows_wrong: 1 },
    ])
  })
}

for (const db of databases) {
  testOnOne(
    db.name,
    `names and addresses of visitors are left out if the settings say so — ${db.name}`,
    async () => {
      const { all } = await openViewsWarehouse(db, false)
      const people = await all(
        'select name, email from dim_visitor union all select visitor_name, visitor_email from report_open',
      )
      expect(people.length).toBeGreaterThan(3)
      expect(new Set(people.flatMap(({ name, email }) => [name, email]))).toEqual(new Set([null]))
    },
  )
}

function toNumbers(row: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]))
}

test('waits are read once, however few hours of availability there were when SQLite analyzed them', async () => {
  const { all, warehouse } = await openViewsWarehouse(databases[0])
  await analyzeAllTables(warehouse.db, warehouse.kind)
  await all("update sqlite_stat1 set stat = '70477 1001 7 1' where tbl = 'fct_wait'")
  await all('analyze sqlite_schema')
  const plan = await all(
    "explain query plan select * from report_workload_day where date >= '2025-10-01'",
  )
  expect(plan.map(({ detail }) => detail)).toContain('SCAN w')
})

test('dates keep their declared type in SQLite, by which BI tools recognise them', async () => {
  const [sqlite] = databases
  if (sqlite === undefined) throw new Error('there is no database')
  const { all } = await openTestWarehouse(sqlite)
  for (const [name, { columns }] of views) {
    const dates = Object.keys(columns).filter((column) => columns[column]?.type === 'local_date')
    const found = await all(`select name from pragma_table_info('${name}') where type = 'date'`)
    expect(
      found.map((column) => column.name),
      name,
    ).toEqual(dates)
  }
})

test('the SQL needs nothing that SQLite 3.28 lacks', () => {
  const later =
    /\bfilter \(|\biif\(|->>|\bunixepoch\(|\bmedian\(|\b(full|right) (outer )?join\b|nulls (first|last)|\bmaterialized\b|\bfloor\(|\bconcat\(|\blateral\b/i
  for (const [name, view] of views) expect(view.select(sqlDialects.sqlite), name).not.toMatch(later)
})
