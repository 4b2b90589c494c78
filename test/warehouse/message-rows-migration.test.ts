/** Upgrading a warehouse whose messages are stored whole: with rows, and with what people have built on `messages`. */

import { describe, expect, onTestFinished, test } from 'vitest'
import { migrationNames, released } from '../../schema/migrations/migrations.ts'
import { openMirror } from '../../src/app/facts.ts'
import { messages } from '../../src/mirror/core/streams.ts'
import { rewriteRows } from '../../src/mirror/sql/rewrite-rows.ts'
import { type JsonObject, parseJson, stringifyJson } from '../../src/values/json.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { openOlderWarehouse, type Row, rowOf } from './older-warehouse.ts'
import { commit } from './row-fixtures.ts'
import { sqlHelpers } from './test-warehouse.ts'

/** Values as they are compared: JSON in any order of names, and times as text. */
function comparable(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => ({ ...row, ...(row.raw === undefined ? {} : { raw: parseJson(textOf(row.raw)) }) }))
}

const textOf = (raw: unknown) => (typeof raw === 'string' ? raw : stringifyJson(raw as JsonObject))

const shown = [
  'select * from messages order by id',
  'select * from glad order by id',
  'select * from glad_ids order by id',
]

for (const db of databases) {
  describe(`a warehouse of an older version — ${db.name}`, () => {
    test('shows the same messages, also through views, before, while and after its rows are rewritten', async () => {
      const { database, query, close } = await openOlderWarehouse(db, 1100)
      const readAll = async (read: typeof query) => {
        const found = await Promise.all(shown.map(async (text) => comparable(await read(text))))
        return [...found, Object.keys(found[0]?.[0] ?? {})]
      }
      const before = await readAll(query)
      await close()
      const warehouse = await database.open()
      expect(warehouse.migration?.applied).toEqual(migrationNames.slice(released.length))
      const { all, list } = sqlHelpers(warehouse)
      const read = async (text: string) => [...(await all(text))]
      expect(await readAll(read)).toEqual(before)
      expect(await rewriteRows(warehouse.db, warehouse.kind, { isOver: () => true })).toEqual({
        rows: 1000,
        isComplete: false,
      })
      expect(await readAll(read)).toEqual(before)
      expect(await rewriteRows(warehouse.db, warehouse.kind, {})).toEqual({ rows: 100, isComplete: true })
      expect(await readAll(read)).toEqual(before)
      expect(await list("select count(*) from message_rows where cast(raw as text) like '%utterance%'")).toEqual([0])
    })

    test('is synced as before', async () => {
      const { database, close } = await openOlderWarehouse(db, 3)
      await close()
      const warehouse = await database.open()
      const { all, list } = sqlHelpers(warehouse)
      const mirror = openMirror(warehouse, 'main')
      const rows = [rowOf(1), { ...rowOf(2), content: 'Edited' }, { ...rowOf(4), weight: 1 }, rowOf(5)]
      const run = await mirror.startRun('incremental', 1_800_000_000_000)
      await mirror.commit({ ...commit('messages', messages.parseRows(rows, 'c').rows), requestedAt: 1_800_000_000_000 })
      expect(await list('select content from messages order by id')).toEqual(
        ['1', 'Edited', '3', '4', '5'].map(contentOf),
      )
      expect(await list('select mood from glad_ids join messages using (id) order by id')).toEqual(['glad'])
      expect(await list('select weight from messages order by id')).toEqual([null, null, null, 1, null])
      expect(await list('select run_id from messages where id = 5')).toEqual([run])
      await all('update messages set run_id = null, weight = 3 where id = 1')
      expect((await list('select weight from messages order by id'))[0]).toBe(3)
    })
  })
}

function contentOf(text: string): string {
  return /^\d+$/.test(text) ? `It's ${text}` : text
}

test('Postgres grants on the view what was granted on the table', async () => {
  const postgres = databases.find(({ name }) => name === 'postgres') as TestDatabase
  const { database, query, close } = await openOlderWarehouse(postgres, 1)
  await query('grant select, delete on messages to public')
  await query('grant update (content, "kind") on messages to public')
  await query('grant usage on schema warehouse to public')
  await close()
  const { query: run } = await database.open()
  const [role] = [`reader_${process.pid}`]
  await run(`create role ${role}`)
  onTestFinished(async () => {
    await run(`drop owned by ${role}`)
    await run(`drop role ${role}`)
  })
  const may = (right: string) => `has_table_privilege('${role}', 'messages', '${right}') as "${right}"`
  expect(await run(`select ${['select', 'delete', 'update'].map(may)}`)).toEqual([
    { select: true, delete: true, update: false },
  ])
  const mayUpdate = (column: string) =>
    `has_column_privilege('${role}', 'messages', '${column}', 'update') as "${column}"`
  expect(await run(`select ${['content', 'kind', 'id'].map(mayUpdate)}`)).toEqual([
    { content: true, kind: true, id: false },
  ])
})
