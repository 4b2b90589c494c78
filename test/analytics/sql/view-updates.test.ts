/**
 * The views for analysts are created with the schema, replaced when their SQL differs, and never
 * get in the way.
 */
import { expect, test } from 'vitest'
import { analyticsViews } from '../../../src/analytics/views/all-views.ts'
import type { AnalyticsView } from '../../../src/analytics/views/view-spec.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import {
  activity,
  call,
  commit,
  conversation,
  recording,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

const testOnOne = createTestOnOne('postgres')

const names = Object.keys(analyticsViews)

/**
 * As an older version left them: `report_day` with other SQL and other columns, and a view that is
 * no longer made.
 */
const olderViews = [
  'drop view report_day',
  'create view report_day as select project_id, 1 as outdated from facts_state',
  'create view report_retired as select 1 as one',
  'drop view sync_views',
  `create view sync_views as ${[...names, 'report_retired'].map((name) => `select '${name}' as name, 'older' as fingerprint`).join(' union all ')}`,
]

for (const db of databases) {
  const open = async () => {
    const opened = await openTestWarehouse(db)
    const runAll = async (statements: readonly string[]) => {
      for (const statement of statements) await opened.all(statement)
    }
    const columnsOf = async (view: string) =>
      (await opened.database.kind) === 'sqlite'
        ? opened.list(`select name from pragma_table_info('${view}')`)
        : opened.list(
            `select attname from pg_attribute where attrelid = '${view}'::regclass and attnum > 0 order by attnum`,
          )
    return { ...opened, runAll, columnsOf }
  }

  testOnOne(
    db.name,
    `views of an older version are replaced, and those that no longer exist are dropped — ${db.name}`,
    async () => {
      const { database, runAll, columnsOf, list, all } = await open()
      await runAll(olderViews)
      await database.open()
      expect(await columnsOf('report_day')).toEqual(Object.keys(analyticsViews.report_day.columns))
      expect(await list('select name from sync_views')).toEqual(names)
      await expect(all('select * from report_retired')).rejects.toThrow()
    },
  )

  testOnOne(db.name, `a view that was dropped by hand is created again — ${db.name}`, async () => {
    const { database, all, columnsOf } = await open()
    await all('drop view report_sla_day')
    await database.open()
    expect(await columnsOf('report_sla_day')).toEqual(
      Object.keys(analyticsViews.report_sla_day.columns),
    )
  })

  testOnOne(db.name, `several processes may replace the views at once — ${db.name}`, async () => {
    const { database, runAll, list } = await open()
    await runAll(olderViews)
    await Promise.all([database.open(), database.open(), database.open()])
    expect(await list('select name from sync_views')).toEqual(names)
  })

  testOnOne(
    db.name,
    `a view of the user that has the name of a new one is not replaced — ${db.name}`,
    async () => {
      const { database, runAll, one } = await open()
      const registry = names
        .filter((name) => name !== 'report_day')
        .map((name) => `select '${name}' as name, '' as fingerprint`)
      await runAll([
        'drop view sync_views',
        'drop view report_day',
        'create view report_day as select 7 as mine',
        `create view sync_views as ${registry.join(' union all ')}`,
      ])
      await expect(database.open()).rejects.toThrow('cannot create the view report_day')
      expect(await one('select mine from report_day')).toEqual({ mine: 7 })
    },
  )

  testOnOne(
    db.name,
    `the views do not keep discovered columns from being widened — ${db.name}`,
    async () => {
      const { mirror, columnsOf } = await open()
      const at = '2026-01-02T00:00:00Z'
      const rows = (score: number | string) => [
        commit('conversations', [conversation('c1', {}, { score })]),
        commit('visitors', [visitor('v1', { score })]),
        commit('visitor_activity', [activity('v1', 'one', 0, { score })]),
        commit('calls', [call('k1', {}, { score, visitorId: 'v1', durationSeconds: score })]),
        commit('call_recordings', [recording('k1', true, at)]),
      ]
      for (const value of [1, 'high']) for (const page of rows(value)) await mirror.commit(page)
      for (const table of ['conversations', 'visitors', 'visitor_activity', 'calls']) {
        expect(
          (await columnsOf(table)).filter((name) => String(name).startsWith('score')),
          table,
        ).toEqual(['score'])
      }
      expect(
        (await columnsOf('calls')).filter((name) => String(name).startsWith('duration')),
      ).toEqual(['duration_seconds'])
      for (const name of names) expect(await columnsOf(name), name).not.toEqual([])
    },
  )

  testOnOne(db.name, `Metabase finds a description of every column — ${db.name}`, async () => {
    const { list } = await open()
    const described = new Set(await list('select keypath from _metabase_metadata'))
    for (const [name, { columns }] of Object.entries<AnalyticsView>(analyticsViews)) {
      for (const column of Object.keys(columns))
        expect(described).toContain(`${name}.${column}.description`)
    }
    expect(described).toContain('fct_wait.answer_seconds.semantic_type')
  })
}

for (const db of databases.filter(({ name }) => name === 'postgres')) {
  test(`views keep the rights granted on them, and views of users that read them — ${db.name}`, async () => {
    const { database, all, list } = await openTestWarehouse(db)
    await all('grant select on report_open to public')
    await all('create view mine as select project_id, waits from report_wait_day')
    await all(
      `create or replace view sync_views as ${names.map((name) => `select '${name}' as name, 'x' as fingerprint`).join(' union all ')}`,
    )
    await database.open()
    expect(
      await list("select relacl::text from pg_class where oid = 'report_open'::regclass"),
    ).toEqual([expect.stringContaining('=r/')])
    expect(await all('select * from mine')).toEqual([])
    expect(await list('select distinct fingerprint from sync_views')).not.toEqual(['x'])
    // These have to be dropped, as columns of one differ.
    await all('drop view mine')
    for (const statement of olderViews) await all(statement)
    await all('grant select on report_day to pg_monitor with grant option')
    await database.open()
    const rights = `select relacl::text from pg_class where oid = 'REPORT'::regclass`
    expect(await list(rights.replace('REPORT', 'report_open'))).toEqual([
      expect.stringContaining(',=r/'),
    ])
    expect(await list(rights.replace('REPORT', 'report_day'))).toEqual([
      expect.stringContaining('pg_monitor=r*/'),
    ])
  })

  test(`a view of a user that reads columns which are gone must be dropped by the user — ${db.name}`, async () => {
    const { database, all } = await openTestWarehouse(db)
    for (const statement of olderViews) await all(statement)
    for (const name of ['mine', 'yours'])
      await all(`create view ${name} as select outdated from report_day`)
    await expect(database.open()).rejects.toMatchObject({
      what: 'cannot replace or drop what another view reads',
      why: 'view mine depends on view report_day; view yours depends on view report_day',
      next: 'drop that view, run `deskmirror migrate`, and create it again from what there is then',
    })
    for (const name of ['mine', 'yours']) await all(`drop view ${name}`)
    await database.open()
  })

  test(`Postgres has comments on every view and column — ${db.name}`, async () => {
    const { list, one } = await openTestWarehouse(db)
    expect(
      await list(`select c.relname || '.' || coalesce(a.attname, '') from pg_class c
      left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relkind = 'v' and c.relnamespace = current_schema()::regnamespace
        and (obj_description(c.oid) is null or col_description(c.oid, a.attnum) is null)`),
    ).toEqual([])
    expect(await one("select obj_description('report_wait_day'::regclass) as note")).toEqual({
      note: `${analyticsViews.report_wait_day.note} ${analyticsViews.report_wait_day.caveat}`,
    })
  })
}
