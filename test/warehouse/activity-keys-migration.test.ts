/** Upgrading a warehouse whose entries of activity are identified by their ids alone. */

import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { visitorActivity } from '../../src/mirror/core/streams.ts'
import { rewriteRows } from '../../src/mirror/sql/rewrite-rows.ts'
import { type JsonObject, stringifyJson } from '../../src/values/json.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { openReleased, openWithout } from './older-warehouse.ts'
import { commit } from './row-fixtures.ts'
import { sqlHelpers } from './test-warehouse.ts'

const at = (second: number) =>
  `2026-08-31T10:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}Z`

/** As a page shows them, newest first. `p` is the id of a page, which several entries concern. */
const entriesOf: Readonly<Record<string, readonly JsonObject[]>> = {
  few: [
    { id: 'p', at: at(9), type: 'view' },
    { id: 'p', at: at(8), type: 'click' },
    { id: 'p', at: at(8), type: 'view', note: "it's \u0000" },
    { id: 'p', at: at(8), type: 'view' },
    { id: 'q', type: 'no time' },
    { at: at(7), type: 'no id' },
    { at: at(7), type: 'no id' },
  ],
  // More than two batches, and more than one of a single key.
  many: Array.from({ length: 2300 }, (_, n) => ({ id: 'p', at: at(n < 1200 ? 60 : 59), n })),
}

/** As an older version stored them. */
function olderRows(project: string, visitor: string) {
  const counts = new Map<string, number>()
  return (entriesOf[visitor] ?? []).map((entry) => {
    const names = Object.keys(entry).sort()
    const content = stringifyJson(Object.fromEntries(names.map((name) => [name, entry[name]!])))
    const key = hash('sha256', entry.id === undefined ? content : `id:${entry.id}`)
    const ordinal = counts.get(key) ?? 0
    counts.set(key, ordinal + 1)
    return { project_id: project, visitor_id: visitor, key, ordinal, at: entry.at ?? null, raw: stringifyJson(entry) }
  })
}

async function openOlder(db: TestDatabase, projects: Readonly<Record<string, readonly string[]>>) {
  const { database, query, close } = await openReleased(db)
  const text = (value: string | null) => (value === null ? 'null' : `'${value.replaceAll("'", "''")}'`)
  for (const [project, visitors] of Object.entries(projects)) {
    for (const visitor of visitors) {
      const rows = olderRows(project, visitor).map(
        (row) => `('${project}', '${visitor}', '${row.key}', ${row.ordinal}, ${text(row.at as string | null)},
          ${text(db.name === 'postgres' ? row.raw.replace('\\u0000', '␛0000') : row.raw)}, '2026-09-01T00:00:00Z', 1)`,
      )
      await query(`insert into visitor_activity (project_id, visitor_id, entry_hash, ordinal, occurred_at, raw, synced_at, asked_at)
        values ${rows}`)
      await query(`insert into sync_children (project_id, stream, parent_id, wanted, fetched, attempts)
        values ('${project}', 'visitor_activity', '${visitor}', 1, 1, 0)`)
    }
  }
  await close()
  return database
}

for (const db of databases) {
  describe(`activity of an older version — ${db.name}`, () => {
    const url = (database: { url: string | null }) => database.url ?? ''

    test('has the keys of this version as soon as a warehouse is open, and is not stored twice', async () => {
      const database = await openOlder(db, { main: ['few', 'many'], other: ['many'] })
      const warehouse = await database.open()
      const { list, count } = sqlHelpers(warehouse)
      expect([await count('visitor_activity'), await count('sync_rewrites')]).toEqual([4607, 0])
      for (const visitor of Object.keys(entriesOf)) {
        const mirror = openMirror(warehouse, 'main', { schema: 'freeze' })
        const { rows } = visitorActivity.parseRows(entriesOf[visitor] ?? [], visitor)
        // The same entries in the same order: none is new, and none differs from the one that its key had.
        const page = { ...commit('visitor_activity', rows), requestedAt: 1_800_000_000_000 }
        expect([visitor, await mirror.commit(page)]).toMatchObject([visitor, { changed: 0 }])
      }
      expect(await count('visitor_activity')).toBe(4607)
      expect((await list('select distinct length(entry_hash) from visitor_activity')).map(Number)).toEqual([32])
    })

    test('is read again where ids are not unique, as entries may have overwritten each other', async () => {
      const database = await openOlder(db, { main: ['few'] })
      const { list } = sqlHelpers(await database.open())
      expect((await list('select whole from sync_children')).map(Number)).toEqual([1])
      expect(await list("select id from facts_due where kind = 'visitor'")).toEqual(['few'])
    })

    test('is renewed batch by batch: what was stopped continues, and nothing reads the mirror before', async () => {
      const database = await openOlder(db, { main: ['many'] })
      const stopped = await openWarehouse(url(database), { keys: 'later' })
      expect(await rewriteRows(stopped.db, stopped.kind, { isOver: () => true })).toEqual({
        rows: 1000,
        isComplete: false,
      })
      await stopped.close()
      await expect(openWarehouse(url(database), { access: 'read' })).rejects.toThrow('older version')
      const { list } = sqlHelpers(await database.open())
      expect((await list('select distinct length(entry_hash) from visitor_activity')).map(Number)).toEqual([32])
      await (await openWarehouse(url(database), { access: 'read' })).close()
    })

    test('is there once if it was stored twice, alike and with an id of its own', async () => {
      const { database, query, close } = await openWithout(db, ['0033_repeated_activity'])
      const entries = [
        [0, { id: 'a' }, { entryId: 'b' }, { type: 'no id' }, { id: null }],
        [1, { id: 'a' }, { entryId: 'b', type: 'view' }, { type: 'no id' }, { id: null }],
        [2, { id: 'a', type: 'view' }, { entryId: 'b' }],
        [3, { id: 'a' }, { entryId: 'b', type: 'view' }],
      ] as const
      for (const [ordinal, ...raws] of entries)
        for (const [n, raw] of raws.entries())
          await query(`insert into visitor_activity
            (project_id, visitor_id, entry_hash, ordinal, raw, synced_at, asked_at)
            values ('main', '${n < 2 ? 'few' : 'v'}', '${n}', ${ordinal}, '${stringifyJson(raw)}', '2026-09-01T00:00:00Z', 1)`)
      await close()
      const { all, list } = sqlHelpers(await database.open())
      const rows = await all('select entry_hash, ordinal, raw from visitor_activity order by entry_hash, ordinal')
      expect(rows.map(({ entry_hash, ordinal }) => `${entry_hash}${ordinal}`).join(' ')).toBe('00 01 10 11 20 21 30 31')
      expect(await list("select id from facts_due where kind = 'visitor'")).toEqual(['few'])
      expect(JSON.stringify(rows[1]?.raw)).toContain('view')
    })

    test('cannot be stored by a process of the older version any more', async () => {
      const database = await openOlder(db, {})
      const { query } = await database.open()
      const insert = (key: string) => `insert into visitor_activity
        (project_id, visitor_id, entry_hash, ordinal, raw, synced_at, asked_at)
        values ('main', 'v', '${key}', 0, '{}', '2026-09-01T00:00:00Z', 1)`
      await expect(query(insert('0'.repeat(64)))).rejects.toThrow('0019_activity_keys')
      await query(insert('0'.repeat(32)))
    })
  })
}
