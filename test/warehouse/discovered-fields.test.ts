/** Undocumented fields become columns when they first appear. */

import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { toRow } from '../../src/mirror/core/item-fields.ts'
import { columnName } from '../../src/mirror/sql/discovered-columns/discovered-column.ts'
import { fieldAtNames, fieldAtPath } from '../../src/values/field-path.ts'
import type { Json } from '../../src/values/json.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { activity, commit, visitor } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const testOnOne = createTestOnOne()

const postgres = databases.at(-1)!

/** SQLite has no booleans: both databases' values as numbers. */
const toNumber = (value: unknown) => (typeof value === 'boolean' ? Number(value) : value)

for (const db of databases) {
  describe(`undocumented fields — ${db.name}`, () => {
    test('each type of value gets a column of its type, nested ones with two underscores', async () => {
      const { mirror, one, all } = await openTestWarehouse(db)
      const extra = {
        vip: true,
        visits: 3,
        score: 1.5,
        lastSeenAt: '2026-01-01T02:00:00+02:00',
        company: 'Acme',
        tags: ['a', 1],
        geo: { city: { name: 'Oslo' } },
        nothing: null,
      }
      await mirror.commit(commit('visitors', [visitor('v1', extra)]))
      const row = await one(
        'select vip, visits, score, last_seen_at, company, tags, geo__city__name from visitors',
      )
      expect({ ...row, vip: toNumber(row.vip), tags: JSON.parse(String(row.tags)) }).toEqual({
        vip: 1,
        visits: 3,
        score: 1.5,
        last_seen_at: '2026-01-01T00:00:00Z',
        company: 'Acme',
        tags: ['a', 1],
        geo__city__name: 'Oslo',
      })
      expect(
        await all('select path, column_name, type from discovered_fields order by column_name'),
      ).toEqual([
        { path: 'company', column_name: 'company', type: 'text' },
        { path: 'geo.city.name', column_name: 'geo__city__name', type: 'text' },
        { path: 'lastSeenAt', column_name: 'last_seen_at', type: 'timestamp' },
        { path: 'score', column_name: 'score', type: 'number' },
        { path: 'tags', column_name: 'tags', type: 'json' },
        { path: 'vip', column_name: 'vip', type: 'boolean' },
        { path: 'visits', column_name: 'visits', type: 'integer' },
      ])
    })

    testOnOne(db.name, 'a field that disappears becomes null', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      await mirror.commit(
        commit('visitors', [visitor('v1', { plan: 'gold' }), visitor('v2', { plan: 'iron' })]),
      )
      await mirror.commit(commit('visitors', [visitor('v1')]))
      expect(await list('select plan from visitors order by id')).toEqual([null, 'iron'])
    })

    test('columns widen from integer to number, and from anything to text, without losing older rows', async () => {
      const { mirror, all, list } = await openTestWarehouse(db)
      const store = (id: string, extra: object) =>
        mirror.commit(commit('visitors', [visitor(id, { ...extra })]))
      await store('v1', { size: 1, code: 7, flag: true, since: '2026-01-01T00:00:00Z', list: [1] })
      await store('v2', { size: 2.5, code: '007', flag: 'maybe', since: 'long ago', list: 'none' })
      await store('v3', { size: 3, code: 8.5, flag: false, since: 5, list: true })
      expect(await list('select size from visitors order by id')).toEqual([1, 2.5, 3])
      expect(await all('select code, flag, since, list from visitors order by id')).toEqual([
        { code: '7', flag: 'true', since: '2026-01-01T00:00:00Z', list: '[1]' },
        { code: '007', flag: 'maybe', since: 'long ago', list: 'none' },
        { code: '8.5', flag: 'false', since: '5', list: 'true' },
      ])
      expect(await list('select type from discovered_fields order by path')).toEqual(
        ['text', 'text', 'text', 'text', 'number'].sort().reverse(),
      )
    })

    test('a value that did not fit is filled in once its column can be widened, whether or not it comes again', async () => {
      const { warehouse, mirror, list } = await openTestWarehouse(db)
      await mirror.commit(commit('visitors', [visitor('v1', { score: 1, plan: 1 })]))
      const frozen = openMirror(warehouse, 'main', { schema: 'freeze' })
      await frozen.commit(commit('visitors', [visitor('v2', { score: 2.5, plan: 'gold' })]))
      expect(await list('select score from visitors order by id')).toEqual([1, null])
      const later = openMirror(warehouse, 'main')
      await later.startRun('incremental', 1)
      expect(await list('select score from visitors order by id')).toEqual([1, 2.5])
      expect(await list('select plan from visitors order by id')).toEqual(['1', 'gold'])
      expect(
        await list('select count(*) from discovered_fields where needed_type is not null'),
      ).toEqual([0])
    })

    test('a wider column has every value as it came', async () => {
      const { mirror, all } = await openTestWarehouse(db)
      const store = (id: string, extra: object) =>
        mirror.commit(commit('visitors', [visitor(id, { ...extra })]))
      const [a, b] = [9_007_199_254_740_993n, -(2n ** 63n)]
      await store('v1', {
        size: a,
        amount: 0.5,
        since: '2026-01-01T02:00:00+02:00',
        list: { z: [1, { a: 1, b: 2 }] },
      })
      await store('v2', { size: b, amount: a, since: 'long ago', list: { z: 'none' } })
      await store('v3', {
        size: 0.5,
        amount: b,
        since: '9999-12-31T23:59:59-01:00',
        list: { z: true },
      })
      await mirror.startRun('incremental', 1)
      expect(
        await all('select size, amount, since, list__z as z from visitors order by id'),
      ).toEqual([
        {
          size: String(a),
          amount: '0.5',
          since: '2026-01-01T02:00:00+02:00',
          z: '[1,{"a":1,"b":2}]',
        },
        { size: String(b), amount: String(a), since: 'long ago', z: 'none' },
        { size: '0.5', amount: String(b), since: '9999-12-31T23:59:59-01:00', z: 'true' },
      ])
    })

    testOnOne(
      db.name,
      'a name with a dot and a nested field of the same path have columns of their own, also in different rows',
      async () => {
        const { mirror, all, list } = await openTestWarehouse(db)
        await mirror.commit(commit('visitors', [visitor('v1', { 'utm.source': 'name' })]))
        await mirror.commit(commit('visitors', [visitor('v2', { utm: { source: 'nested' } })]))
        await mirror.commit(
          commit('visitors', [visitor('v3', { 'utm.source': 'name', utm: { source: 'nested' } })]),
        )
        await mirror.startRun('incremental', 1)
        const paths = await all(
          "select path, column_name from discovered_fields where path like 'utm%'",
        )
        const columnOf = new Map(paths.map((row) => [row.path, row.column_name]))
        expect(columnOf.get('utm\\.source')).toBe('utm__source')
        const both = `utm__source as dotted, "${columnOf.get('utm.source')}" as nested`
        expect(await all(`select ${both} from visitors order by id`)).toEqual([
          { dotted: 'name', nested: null },
          { dotted: null, nested: 'nested' },
          { dotted: 'name', nested: 'nested' },
        ])
        expect(await list('select count(*) from discovered_fields')).toEqual([2])
      },
    )

    test('integers beyond 2^53 are integers, beyond 64 bits text', async () => {
      const { mirror, one } = await openTestWarehouse(db)
      await mirror.commit(
        commit('visitors', [visitor('v1', { big: 9_007_199_254_740_993n, huge: 2n ** 70n })]),
      )
      expect(await one('select big, huge from visitors')).toEqual({
        big: 9_007_199_254_740_993n,
        huge: '1180591620717411303424',
      })
    })

    testOnOne(
      db.name,
      'names that are taken, equal or too long get unique names, which never change',
      async () => {
        const { mirror, all, one } = await openTestWarehouse(db)
        const long = 'aVeryLongNameOfAFieldThatIsLongerThanTheSixtyThreeBytesOfAnIdentifier'
        const extra = {
          Name: 'reserved',
          raw: 'reserved',
          fooBar: 1,
          foo_bar: 2,
          'foo bar': 3,
          [long]: 4,
          '7up': 5,
          日本: 6,
          ctid: 7,
        }
        await mirror.commit(commit('visitors', [visitor('v1', extra)]))
        const names = await all('select path, column_name from discovered_fields order by path')
        expect(new Set(names.map((row) => row.column_name)).size).toBe(Object.keys(extra).length)
        expect(names.every((row) => String(row.column_name).length <= 63)).toBe(true)
        await mirror.startRun('incremental', 1)
        await mirror.commit(commit('visitors', [visitor('v1', { ...extra, fooBar: 10 })]))
        expect(await all('select path, column_name from discovered_fields order by path')).toEqual(
          names,
        )
        const column = names.find((row) => row.path === 'fooBar')?.column_name
        expect(Object.values(await one(`select "${column}" from visitors`))).toEqual([10])
      },
    )

    testOnOne(
      db.name,
      'a table gets at most 300 discovered columns; further fields stay in raw',
      async () => {
        const { warehouse, mirror, list, one } = await openTestWarehouse(db)
        // SQLite parses every view anew for each column.
        if (db.name === 'sqlite')
          for (const view of await list("select name from sqlite_master where type = 'view'"))
            await warehouse.query(`drop view "${view}"`)
        const extra = Object.fromEntries(Array.from({ length: 310 }, (_, i) => [`field${i}`, i]))
        await mirror.commit(commit('visitors', [visitor('v1', extra), visitor('v2', extra)]))
        expect(
          await list('select count(*) from discovered_fields where column_name is not null'),
        ).toEqual([300])
        expect(
          await list('select count(*) from discovered_fields where column_name is null'),
        ).toEqual([10])
        expect(
          JSON.parse((await mirror.readRawById('visitors', ['v1'])).get('v1') ?? ''),
        ).toMatchObject(extra)
        expect((await one("select field0 as f from visitors where id = 'v2'")).f).toBe(0)
      },
    )

    testOnOne(
      db.name,
      'a frozen schema gets no columns; when it is unfrozen, they are filled from the stored rows',
      async () => {
        const { warehouse, list, all } = await openTestWarehouse(db)
        const frozen = openMirror(warehouse, 'main', { schema: 'freeze' })
        const rows = Array.from({ length: 520 }, (_, i) =>
          activity('v1', `h${i}`, 0, { page: { 'a.b': i }, n: i }),
        )
        await frozen.commit(commit('visitor_activity', rows))
        expect(await list('select column_name from discovered_fields')).toEqual([null, null])
        const unfrozen = openMirror(warehouse, 'main')
        await unfrozen.commit(
          commit('visitor_activity', [activity('v1', 'new', 0, { page: { 'a.b': 1 }, n: 1 })]),
        )
        expect(await list("select n from visitor_activity where entry_hash = 'h7'")).toEqual([null])
        await unfrozen.startRun('incremental', 1)
        expect(
          await all(
            "select n, page__a__b from visitor_activity where entry_hash in ('h7', 'h519') order by n",
          ),
        ).toEqual([
          { n: 7, page__a__b: 7 },
          { n: 519, page__a__b: 519 },
        ])
        expect(await list('select count(*) from visitor_activity where n is null')).toEqual([0])
        expect(
          await list('select count(*) from discovered_fields where fill_after is not null'),
        ).toEqual([0])
      },
    )

    test('two processes that discover fields at once both get their columns', async () => {
      const { database, warehouse, list } = await openTestWarehouse(db)
      const other = await database.open()
      const [a, b] = [openMirror(warehouse, 'main'), openMirror(other, 'other')]
      for (const n of [1, 2, 3]) {
        await Promise.all([
          a.commit(commit('visitors', [visitor('v1', { [`shared${n}`]: n, a: n })])),
          b.commit(commit('visitors', [visitor('v1', { [`shared${n}`]: 'text', b: n })])),
        ])
      }
      await b.startRun('incremental', 1)
      await b.commit(commit('visitors', [visitor('v1', { shared1: 'again' })]))
      expect(await list("select shared3 from visitors where project_id = 'main'")).toEqual(['3'])
      expect(await list("select shared1 from visitors where project_id = 'other'")).toEqual([
        'again',
      ])
      expect(await list("select count(*) from discovered_fields where path = 'shared1'")).toEqual([
        2,
      ])
    })

    test('a view on a column keeps working when the field changes type', async () => {
      const { mirror, warehouse, all, list } = await openTestWarehouse(db)
      await mirror.commit(commit('visitors', [visitor('v1', { plan: 1 })]))
      await warehouse.query('create view plans as select id, plan + 1 as next from visitors')
      await mirror.commit(commit('visitors', [visitor('v2', { plan: 'gold' })]))
      await mirror.startRun('incremental', 1)
      expect(await all('select next from plans order by id')).toEqual([{ next: 2 }, { next: null }])
      const [column] = await list("select column_name from discovered_fields where path = 'plan'")
      expect(await list(`select "${column}" from visitors order by id`)).toEqual(['1', 'gold'])
    })
  })
}

/** What people make, and what then keeps a column from getting another type. */
const uses: Readonly<
  Record<(typeof databases)[number]['name'], Readonly<Record<string, readonly string[]>>>
> = {
  sqlite: {
    'a view': ['create view scores as select id, score + 1 as next from visitors'],
    'a broken view of something else': ['create view broken as select * from no_such_table'],
    'an index': ['create index high_scores on visitors (score) where score > 5'],
    'a trigger': [
      'create table visitors_seen (score integer)',
      `create trigger scored after update on visitors when new.score > 5
        begin insert into visitors_seen values (new.score); end`,
    ],
  },
  postgres: {
    'a view': ['create view scores as select id, score + 1 as next from visitors'],
    'a materialized view': ['create materialized view scores as select id, score from visitors'],
    'an index': ['create index high_scores on visitors (score) where score > 5'],
    'an index of an expression': ['create index next_scores on visitors ((score + 1))'],
    'a trigger': [
      'create function seen() returns trigger language plpgsql as $$ begin return new; end $$',
      'create trigger scored before update on visitors for each row when (new.score > 5) execute function seen()',
    ],
    'a check': ['alter table visitors add check (score > -1)'],
    'a generated column': [
      'alter table visitors add next bigint generated always as (score + 1) stored',
    ],
    'a policy': ['create policy scored on visitors using (score > 5)'],
    'a function': [
      'create function best() returns bigint language sql begin atomic select max(score) from visitors; end',
    ],
    'a publication': ['create publication scored for table visitors (project_id, id, score)'],
  },
}

for (const db of databases)
  test.each(Object.entries(uses[db.name]))(
    `a column that %s keeps from getting another type never says what its row does not — ${db.name}`,
    async (_, statements) => {
      const { warehouse, mirror, all, one } = await openTestWarehouse(db)
      const store = (...rows: readonly ReturnType<typeof visitor>[]) =>
        mirror.commit(commit('visitors', rows))
      await store(...['v1', 'v2', 'v3', 'v4'].map((id, n) => visitor(id, { score: n + 1 })))
      for (const statement of statements) await warehouse.query(statement)
      await store(visitor('v1', { score: 'A494' }), visitor('v2'), visitor('v3', { score: 495 }))
      const expected = [
        { id: 'v1', score: null, wide: 'A494' },
        { id: 'v2', score: null, wide: null },
        { id: 'v3', score: 495, wide: '495' },
      ]
      const read = (ids: string) =>
        all(`select id, score, score__text as wide from visitors where id in (${ids}) order by id`)
      expect(await read("'v1', 'v2', 'v3'")).toEqual(expected)
      await mirror.startRun('incremental', 1)
      expect(await read("'v1', 'v2', 'v3', 'v4'")).toEqual([
        ...expected,
        { id: 'v4', score: 4, wide: '4' },
      ])
      expect(
        await one(
          "select column_name, type, former_columns from discovered_fields where path = 'score'",
        ),
      ).toEqual({
        column_name: 'score__text',
        type: 'text',
        former_columns: '[{"name":"score","type":"integer"}]',
      })
      expect(await mirror.listFormerColumns(['visitors'])).toEqual([
        { column: 'visitors.score', replacedBy: 'visitors.score__text', type: 'integer' },
      ])
    },
  )

for (const db of databases) {
  test(`a former column can be dropped — ${db.name}`, async () => {
    const { warehouse, mirror, list } = await openTestWarehouse(db)
    await mirror.commit(commit('visitors', [visitor('v1', { score: 1 })]))
    await warehouse.query('create view scores as select score from visitors')
    await mirror.commit(commit('visitors', [visitor('v1', { score: 'one' })]))
    await warehouse.query('drop view scores')
    const dropped =
      db.name === 'sqlite' ? ['drop view dim_visitor'] : ['drop view dim_visitor cascade']
    for (const statement of [...dropped, 'alter table visitors drop column score'])
      await warehouse.query(statement)
    const later = openMirror(warehouse, 'main')
    await later.startRun('incremental', 1)
    await later.commit(commit('visitors', [visitor('v1', { score: 'two' })]))
    expect(await list('select score__text from visitors')).toEqual(['two'])
    expect(await later.listFormerColumns(['visitors'])).toEqual([])
  })

  test(`an error that is not about something that uses the column is not taken for one — ${db.name}`, async () => {
    const { warehouse, mirror, list } = await openTestWarehouse(db)
    await mirror.commit(commit('visitors', [visitor('v1', { score: 1 })]))
    const refuse =
      db.name === 'sqlite'
        ? ["create trigger refused before update on visitors begin select raise(abort, 'no'); end"]
        : [
            "create function refused() returns event_trigger language plpgsql as $$ begin raise 'no'; end $$",
            "create event trigger refused on ddl_command_start when tag in ('ALTER TABLE') execute function refused()",
          ]
    for (const statement of refuse) await warehouse.query(statement)
    await expect(
      mirror.commit(commit('visitors', [visitor('v2', { score: 'A' })])),
    ).rejects.toThrow('no')
    expect(await list('select column_name from discovered_fields')).toEqual(['score'])
  })
}

test('a value that did not fit while a long query held the table is filled in later', async () => {
  const { database, mirror, list } = await openTestWarehouse(postgres)
  await mirror.commit(commit('visitors', [visitor('v1', { score: 1 })]))
  const reader = new pg.Client({ connectionString: database.url! })
  await reader.connect()
  onTestFinished(() => reader.end())
  await reader.query('begin')
  await reader.query(
    `select * from "${new URL(database.url!).searchParams.get('schema')}".visitors`,
  )
  await mirror.commit(commit('visitors', [visitor('v2', { score: 2.5, fresh: 'x' })]))
  expect(await list('select score from visitors order by id')).toEqual([1, null])
  await reader.query('rollback')
  await mirror.startRun('incremental', 1)
  expect(await list('select score from visitors order by id')).toEqual([1, 2.5])
  expect(await list('select fresh from visitors order by id')).toEqual([null, 'x'])
})

test.each([
  ['plan', 'plan'],
  ['customFields.planName', 'custom_fields__plan_name'],
  ['HTMLTitle', 'html_title'],
  ['a-b c', 'a_b_c'],
  ['2nd', 'f_2nd'],
  ['', 'field'],
])('the field %s is the column %s', (path, name) => {
  expect(columnName(path, new Set())).toBe(name)
})

test('a field is found in a stored row as it was found when the row arrived', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd.e', 'a.b', 'b.c', '')
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 7, withCrossShrink: true },
      fc.constantFrom<Json>(null, 1, 'x', true, [1], {}),
      fc.dictionary(name, tie('tree'), { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<Json>,
    ),
  }))
  const wire = fc.dictionary(name, tree, { noNullPrototype: true })
  fc.assert(
    fc.property(wire, (row) => {
      const { extraFields } = toRow(row, {})
      for (const [path, extra] of extraFields) expect(fieldAtNames(row, path)).toEqual(extra)
    }),
    { numRuns: 300 },
  )
  expect(fieldAtPath({ a: { b: { c: { d: { e: { f: 1 } } } } } }, 'a.b.c.d.e')).toEqual({
    value: '{"f":1}',
    isJsonText: true,
  })
  expect(fieldAtPath({ a: { b: 2 } }, 'a')).toBe(undefined)
  expect(fieldAtPath({ a: { 'b.c': 2 } }, 'a.b.c')?.value).toBe(2)
})
