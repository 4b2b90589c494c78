/** Upgrading a warehouse in which other letters of an id made a second row of it. */

import { expect, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { openWithout } from './older-warehouse.ts'

const id = 'abcdefab-1111-4222-8333-abcdefabcdef'
const upper = id.toUpperCase()
const mixed = `${upper.slice(0, 10)}${id.slice(10)}`

test.for(databases)('the rows are joined with all of their children — $name', async (db) => {
  const { database, query, close } = await openWithout(db, ['0021_deletions'])
  const common = `'p', '{}', '2026-09-01T00:00:00Z'`
  const insert = (table: string, columns: string, values: string) =>
    query(`insert into ${table} (project_id, raw, synced_at, ${columns}) values (${common}, ${values})`)
  for (const [n, spelling] of [upper, id, mixed].entries()) {
    await insert('conversations', 'asked_at, id, visitor_id', `${n}, '${spelling}', '${upper}'`)
    await insert('visitors', 'asked_at, id', `${n}, '${spelling}'`)
    await insert('calls', 'asked_at, id', `${n}, '${spelling}'`)
    await insert('call_recordings', 'asked_at, call_id', `${n}, '${spelling}'`)
    for (const message of [7, n])
      await insert('message_rows', 'asked_at, conversation_id, id', `1, '${spelling}', ${message}`)
    for (const hash of ['h', `h${n}`])
      await insert('visitor_activity', 'asked_at, visitor_id, entry_hash, ordinal', `1, '${spelling}', '${hash}', 0`)
    await query(`insert into writebacks (project_id, operation, conversation_id, payload, status)
      values ('p', 'handled', '${spelling}', '{"handled":true}', 'draft')`)
    await query(`insert into sync_children (project_id, stream, parent_id, wanted, fetched, attempts)
      values ('p', 'messages', '${spelling}', 1, 1, 0)`)
  }
  await insert('conversations', 'asked_at, id, visitor_id', `1, 'other', 'other'`)
  await insert('message_rows', 'asked_at, conversation_id, id', `1, 'other', 7`)
  await close()
  const warehouse = await openWarehouse(database.url!)
  const list = async (text: string) =>
    (await warehouse.query(text)).map((row) => Object.values(row).map(String).join(' '))
  expect(await list('select id, visitor_id from conversations order by asked_at')).toEqual([
    'other other',
    `${mixed} ${mixed}`,
  ])
  expect(await list('select id from visitors')).toEqual([mixed])
  expect(await list('select id from calls')).toEqual([mixed])
  expect(await list('select call_id from call_recordings')).toEqual([mixed])
  expect(await list(`select conversation_id, id from messages where conversation_id <> 'other' order by id`)).toEqual(
    [0, 1, 2, 7].map((message) => `${mixed} ${message}`),
  )
  expect(await list('select visitor_id, entry_hash from visitor_activity order by entry_hash')).toEqual(
    ['h', 'h0', 'h1', 'h2'].map((hash) => `${mixed} ${hash}`),
  )
  expect(await list('select distinct lane from writebacks')).toEqual([`conversation/${id}`])
  const targets = [upper, id, mixed].map((target) => ({ operation: 'handled', target }) as const)
  const found = await createOutbox(warehouse.projectDb('p')).readTargets(targets)
  expect(found.map((state) => state?.kind)).toEqual(['conversation', 'conversation', 'conversation'])
  expect(await list('select parent_id, due_at, whole from sync_children')).toEqual([`${mixed} 1 1`])
  await warehouse.close()
})
