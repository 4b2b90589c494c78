/** Replaced versions of rows: what is kept of a page, and what analysts see. */

import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, onTestFinished } from 'vitest'
import type { ListStreamName } from '../../schema/stream-specs.ts'
import { openMirror } from '../../src/app/facts.ts'
import { factsOf, settings } from '../analytics/sql/facts-settings.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { call, commit, conversation, visitor } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const testOnOne = createTestOnOne()

const at = (second: number, ms = 0) => Date.UTC(2026, 5, 1, 0, 0, second, ms)
const time = (second: number) => new Date(at(second)).toISOString().replace('.000', '')
const lists = ['visitors', 'calls', 'conversations'] as const satisfies readonly ListStreamName[]

async function openWithHistory(db: Pick<TestDatabase, 'make'>) {
  const opened = await openTestWarehouse(db)
  const { warehouse, all } = opened
  const mirror = openMirror(warehouse, 'main', { history: lists })
  await mirror.startRun('full', at(0))
  await factsOf(warehouse, { ...settings, personalData: true }).refresh()
  const store = (id: string, second: number, extra = {}, columns = {}) =>
    mirror.commit(commit('visitors', [visitor(id, extra, columns)], { requestedAt: at(second) }))
  return {
    ...opened,
    mirror,
    store,
    versions: () => all('select * from visitors_history order by id, valid_from'),
    shown: (columns = 'visitor_id, valid_from, valid_to, plan') =>
      all(`select ${columns} from dim_visitor_history order by visitor_id, valid_from`),
  }
}

for (const db of databases) {
  describe(`the history of rows — ${db.name}`, () => {
    testOnOne(
      db.name,
      'has each replaced version with its columns, and nothing of pages without one',
      async () => {
        const { mirror, all, store, versions } = await openWithHistory(db)
        await store('v1', 10, { plan: 'free' }, { email: 'bo@example.org' })
        await store('v1', 20, { plan: 'free', lastSeenAt: time(15) }, { email: 'bo@example.org' })
        await store('v1', 30, { plan: 'free', lastSeenAt: time(15) }, { email: 'bo@example.org' })
        expect(await versions()).toEqual([])
        await store('v1', 40, { plan: 'pro' }, { email: null })
        const [first, ...others] = await versions()
        expect(others).toEqual([])
        expect(first).toMatchObject({
          project_id: 'main',
          id: 'v1',
          valid_from: time(10),
          valid_to: time(40),
          synced_at: time(20),
          name: 'Bo',
          email: 'bo@example.org',
        })
        expect(JSON.parse(String(first?.raw))).toMatchObject({ plan: 'free', lastSeenAt: time(15) })
        const page = [conversation('c1', { origin: 'a' }), conversation('c2', { origin: 'a' })]
        await mirror.commit(commit('conversations', page, { requestedAt: at(50) }))
        await mirror.commit(commit('calls', [call('k1')], { requestedAt: at(50) }))
        const changed = [conversation('c1', { origin: 'b' }), conversation('c2', { origin: 'b' })]
        await mirror.commit(commit('conversations', changed, { requestedAt: at(60) }))
        await mirror.commit(
          commit('calls', [call('k1', {}, { seconds: 7 })], { requestedAt: at(60) }),
        )
        expect(
          await all(`select id, valid_from, valid_to, origin, visitor_id from conversations_history
          order by id`),
        ).toEqual(
          ['c1', 'c2'].map((id) => ({
            id,
            valid_from: time(50),
            valid_to: time(60),
            origin: 'a',
            visitor_id: `visitor of ${id}`,
          })),
        )
        expect(await all('select id, occurred_at from calls_history')).toHaveLength(1)
      },
    )

    testOnOne(
      db.name,
      'shows analysts one version at each time, with undocumented fields, and closes it with a deletion',
      async () => {
        const { mirror, store, shown, all } = await openWithHistory(db)
        await store('v1', 10, { plan: 'free', vip: true, tags: ['a'], 'a.b': { "c'd": 1 } })
        await store('v1', 20, { plan: 'free', lastSeenAt: time(15) })
        await store('v1', 40, { plan: 'pro' })
        await store('v2', 40, { plan: 7 })
        await mirror.markDeleted('visitors', 'v1', at(50))
        const before = await shown()
        expect(before).toEqual([
          { visitor_id: 'v1', valid_from: time(10), valid_to: time(20), plan: 'free' },
          { visitor_id: 'v1', valid_from: time(20), valid_to: time(40), plan: 'free' },
          { visitor_id: 'v1', valid_from: time(40), valid_to: time(50), plan: 'pro' },
          { visitor_id: 'v2', valid_from: time(40), valid_to: null, plan: '7' },
        ])
        expect(await shown('vip, a__b__c_d')).toMatchObject([
          { vip: 'true', a__b__c_d: '1' },
          {},
          {},
          {},
        ])
        await store('v1', 70, { plan: 'pro' })
        expect((await shown()).slice(2, 4)).toEqual([
          { visitor_id: 'v1', valid_from: time(40), valid_to: time(50), plan: 'pro' },
          { visitor_id: 'v1', valid_from: time(70), valid_to: null, plan: 'pro' },
        ])
        const wrote = [5, 10, 39, 40, 55, 70].map(
          (second, n) => `select ${n} as n,
        ${db.name === 'postgres' ? `timestamptz '${time(second)}'` : `'${time(second)}'`} as at`,
        )
        const found = await all(`select w.n, h.plan from (${wrote.join(' union all ')}) w
        left join dim_visitor_history h on h.project_id = 'main' and h.visitor_id = 'v1'
          and (h.valid_from <= w.at or h.is_first) and (w.at < h.valid_to or h.valid_to is null)
        order by n`)
        expect(found.map(({ plan }) => plan)).toEqual(['free', 'free', 'free', 'pro', null, 'pro'])
      },
    )

    testOnOne(
      db.name,
      'keeps all versions of a second, whoever stores them, and none of an older copy or of the same page again',
      async () => {
        const { warehouse, mirror, versions, shown } = await openWithHistory(db)
        const other = openMirror(warehouse, 'main', { history: lists })
        const page = (plan: number, ms: number) =>
          commit('visitors', [visitor('v1', { plan })], { requestedAt: at(10, ms) })
        for (let n = 0; n < 6; n += 1) await (n % 2 ? mirror : other).commit(page(n, n * 100))
        await mirror.commit(page(5, 900))
        await other.commit(page(3, 450))
        await Promise.all([mirror.commit(page(6, 950)), other.commit(page(7, 951))])
        const plans = (await versions()).map(({ raw }) => JSON.parse(String(raw)).plan)
        expect(plans.slice(0, 6)).toEqual([0, 1, 2, 3, 4, 5])
        expect(new Set([...plans, Number((await shown()).at(-1)?.plan)]).size).toBe(
          plans.length + 1,
        )
        const intervals = await shown()
        for (const [n, { valid_to }] of intervals.slice(0, -1).entries())
          expect(valid_to).toBe(intervals[n + 1]?.valid_from)
      },
    )

    testOnOne(
      db.name,
      'takes one statement for a page with changes, and none without',
      async () => {
        const count = countStatements()
        const { warehouse } = await openTestWarehouse(db)
        const rows = (plan: string) =>
          Array.from({ length: 45 }, (_, n) => visitor(`v${n}`, { plan }))
        const statements: Record<string, readonly number[]> = {}
        for (const history of [[], lists]) {
          const project = `p${history.length}`
          const mirror = openMirror(warehouse, project, { history })
          await mirror.commit(commit('visitors', rows('free')))
          const counts: number[] = []
          for (const plan of ['free', 'pro', 'pro']) {
            const before = count()
            await mirror.commit(commit('visitors', rows(plan)))
            counts.push(count() - before)
          }
          statements[project] = counts
        }
        const [unchanged = 0, changed = 0, again = 0] = statements['p0'] ?? []
        expect(statements['p3']).toEqual([unchanged, changed + 1, again])
      },
    )
  })

  testOnOne(db.name, `a key that is taken loses no version — ${db.name}`, async () => {
    const { warehouse, mirror, store, versions } = await openWithHistory(db)
    const off = openMirror(warehouse, 'main')
    const page = (plan: number, ms: number) =>
      commit('visitors', [visitor('v1', { plan })], { requestedAt: at(10, ms) })
    for (let n = 0; n < 4; n += 1) await mirror.commit(page(n, n))
    // Stored in the second of a version that is kept already.
    await off.commit(
      commit('visitors', [visitor('v1', { plan: 'unseen' })], { requestedAt: at(11) }),
    )
    await store('v1', 30, { plan: 'last' })
    expect((await versions()).map(({ raw }) => JSON.parse(String(raw)).plan)).toEqual([
      0,
      1,
      2,
      'unseen',
    ])
  })

  testOnOne(db.name, `a wrong clock leaves no version in the future — ${db.name}`, async () => {
    const { store, shown } = await openWithHistory(db)
    await store('v1', 10, { plan: 'free' })
    const year = 365 * 86_400
    await store('v1', 50 * year, { plan: 'basic' })
    await store('v1', 50 * year + 1, { plan: 'pro' })
    await store('v1', 40, { plan: 'gold' })
    const open = await shown(`plan, valid_from < valid_to or valid_to is null as held, valid_to`)
    const held = open.filter((row) => Boolean(row.held))
    expect(held.map(({ plan, valid_to }) => [plan, valid_to])).toEqual([
      ['free', time(40)],
      ['gold', null],
    ])
  })

  testOnOne(db.name, `it changes nothing while it is off — ${db.name}`, async () => {
    const { warehouse, store, versions, all } = await openWithHistory(db)
    await store('v1', 10, { plan: 'free' })
    await store('v1', 20, { plan: 'free', lastSeenAt: time(15) })
    expect(await all('select unchanged_since as at from visitors')).toEqual([{ at: time(10) }])
    const off = openMirror(warehouse, 'main')
    await off.commit(commit('visitors', [visitor('v1', { plan: 'pro' })], { requestedAt: at(30) }))
    expect(await versions()).toEqual([])
    expect(await all('select unchanged_since as at from visitors')).toEqual([{ at: null }])
    await store('v1', 40, { plan: 'gold' })
    expect(await versions()).toMatchObject([{ valid_from: time(30), valid_to: time(40) }])
  })
}

/** Counts the statements of both drivers from here on. */
function countStatements(): () => number {
  let statements = 0
  const { prepare } = Sqlite.prototype
  Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
    const statement = prepare.call(this, text)
    for (const name of ['run', 'all'] as const) {
      const work = statement[name].bind(statement) as (...args: unknown[]) => unknown
      Object.assign(statement, {
        [name]: (...args: unknown[]) => {
          statements += 1
          return work(...args)
        },
      })
    }
    return statement
  } as typeof prepare
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  Object.assign(pg.Client.prototype, {
    query(this: pg.Client, ...args: unknown[]) {
      statements += 1
      return query.apply(this, args)
    },
  })
  onTestFinished(() => {
    Sqlite.prototype.prepare = prepare
    Object.assign(pg.Client.prototype, { query })
  })
  return () => statements
}
