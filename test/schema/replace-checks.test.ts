/** A warehouse of a version with fewer operations gets this version's checks, and keeps its rows and what people added. */
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import { connect, openWithout } from '../warehouse/older-warehouse.ts'

const visitor = '01920000-0000-7000-8000-000000000001'
const insert = (operation: string, payload: string) =>
  `insert into writebacks (project_id, operation, visitor_id, payload, batch_id) values ('main', '${operation}', '${visitor}', '${payload}', 'b')`
const addNote = insert('note', '{"content":"x"}')
const state = [
  'select * from writebacks order by seq',
  'select * from writeback_events order by seq',
  'select * from writeback_batches',
  'select operation from corrections',
]

/** As in a version before notes. */
function forgetNotes(url: string): void {
  const file = new Database(url.replace('sqlite:', ''))
  file.unsafeMode(true).pragma('writable_schema = on')
  file.exec(
    `update sqlite_master set sql = replace(sql, 'visitor'',''note''))', 'visitor''))') where name = 'writebacks'`,
  )
  file.pragma(`schema_version = ${Number(file.pragma('schema_version', { simple: true })) + 1}`)
  file.close()
}

test.for(databases)('operations that are new to a warehouse are accepted — $name', async (db) => {
  const { database, query, close } = await openWithout(db, ['0035_changed_approvals'])
  if (database.kind === 'sqlite') {
    forgetNotes(database.url)
  } else {
    await query(`alter table writebacks drop constraint writebacks_operation_check,
      add constraint writebacks_operation_check check (operation in ('message','handled','visitor')),
      add constraint of_people check (created_by is null or created_by <> 'nobody')`)
  }
  await query('alter table writebacks add column ticket text')
  await query('create index by_ticket on writebacks (ticket)')
  await query('create view corrections as select operation, ticket from writebacks')
  for (const name of ['Ada', 'Bo']) await query(insert('visitor', `{"name":"${name}"}`))
  await query("update writebacks set ticket = 'T1'")
  await expect(query(addNote)).rejects.toThrow(/check/i)
  const before = await Promise.all(state.map(query))
  await close()

  const warehouse = await database.open()
  expect(await Promise.all(state.map((text) => warehouse.query(text)))).toEqual(before)
  expect(await warehouse.query('select distinct ticket from corrections')).toEqual([{ ticket: 'T1' }])
  const { query: again, close: end } = await connect(database)
  await again(addNote)
  await expect(again(insert('visitor', '{}'))).rejects.toThrow(/visitor_needs_name_or_email/)
  await expect(again(insert('tag', '{}'))).rejects.toThrow(/check/i)
  expect(await again('select rows from writeback_batches')).toEqual([{ rows: 3 }])
  expect(await again('select count(*) as n from writeback_events')).toEqual([{ n: 3 }])
  await end()
})

test('the columns of people stay as they were declared, and their tables the rows that name a write-back — sqlite', async () => {
  const { database, query, close } = await openWithout(databases[0], ['0035_changed_approvals'])
  forgetNotes(database.url)
  await query("alter table writebacks add column team text not null default 'support'")
  await query('alter table writebacks add column score real default 1')
  await query(`alter table writebacks add column about text collate nocase as (payload ->> '$.name') virtual`)
  await query('create index by_name on writebacks (about)')
  await query(`create table remarks (project_id text, writeback_id text, remark text,
    foreign key (project_id, writeback_id) references writebacks (project_id, id) on delete cascade)`)
  await query(insert('visitor', '{"name":"Ada"}'))
  await query("insert into remarks select project_id, id, 'as she asked' from writebacks")
  await close()

  await (await database.open()).close()
  const { query: again, close: end } = await connect(database)
  expect(await again('select remark, team from remarks join writebacks on id = writeback_id')).toEqual([
    { remark: 'as she asked', team: 'support' },
  ])
  await again(insert('visitor', '{"name":"Bo"}'))
  expect(await again("select team, score, about, about = 'ADA' as is_ada from writebacks order by seq")).toEqual([
    { team: 'support', score: 1, about: 'Ada', is_ada: 1 },
    { team: 'support', score: 1, about: 'Bo', is_ada: 0 },
  ])
  await expect(again("insert into remarks values ('main', 'nobody', '')")).rejects.toThrow(/FOREIGN KEY/)
  await end()
})
