/** `migrate` over a warehouse of an older version: its progress, and what `kill -9` leaves. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { databases, type TestDatabase } from '../support/databases.ts'
import { openOlderWarehouse } from '../warehouse/older-warehouse.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

const rows = 20_000

/** Copies of the first message. */
const copies = `with recursive n(i) as (select 2 union all select i + 1 from n where i < ${rows})
  insert into messages (project_id, conversation_id, id, raw, synced_at, asked_at, sender_type, kind, content)
  select project_id, 'c' || i / 20, i, json_object('id', i, 'conversationId', 'c' || i / 20, 'senderType', sender_type,
    'kind', kind, 'content', content), synced_at, asked_at, sender_type, kind, content from messages, n where id = 1`

/** Entries of three pages, whose ids do not tell them apart. */
const entries = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows / 2}), entry as
  (select i, '2026-08-31T10:02:' || (10 + i % 2) || 'Z' as at from n)
  insert into visitor_activity (project_id, visitor_id, entry_hash, ordinal, occurred_at, raw, synced_at, asked_at)
  select 'main', 'v' || i / 50, printf('%064d', i % 3), i, at, json_object('id', i % 3, 'at', at, 'n', i), at, 1 from entry`

test('migrate that is killed leaves a warehouse that can be read, and the next one continues', async () => {
  const sqlite = databases.find(({ name }) => name === 'sqlite') as TestDatabase
  const { database, query, close } = await openOlderWarehouse(sqlite, 1)
  await query(copies)
  await query(entries)
  await close()
  const url = database.url ?? ''
  const file = new Database(url.replace('sqlite:', ''))
  onTestFinished(() => void file.close())
  const read = (text: string) => file.prepare(text).pluck().all()
  /** As one text: so many values take long to compare one by one. */
  const readAll = () =>
    [
      read("select json_extract(raw, '$.id', '$.conversationId', '$.content') from messages order by id"),
      read("select visitor_id || raw from visitor_activity order by json_extract(raw, '$.n')"),
    ].join()
  const before = readAll()
  const environment = { DESKMIRROR_DATABASE_URL: url }
  const cwd = url.replace(/^sqlite:(.*)\/.*/, '$1')
  for (const name of ['visitor_activity.entry_hash', 'messages.raw']) {
    const env = cleanEnvironment(environment)
    const killed = spawn(process.execPath, [launcher, 'migrate'], { cwd, env, stdio: 'ignore' })
    const ended = once(killed, 'exit')
    const position = `select position from sync_rewrites where name = '${name}' and position <> ''`
    await vi.waitFor(() => expect(read(position)).toHaveLength(1), { timeout: 120_000, interval: 5 })
    killed.kill('SIGKILL')
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(read(position)).toHaveLength(1)
    expect(readAll() === before).toBe(true)
  }

  const next = await runDeskmirror(['migrate', '--json'], { cwd, env: environment })
  const { applied, rewritten } = JSON.parse(next.out)
  expect([next.exit, applied, rewritten.isComplete]).toEqual([0, [], true])
  expect(rewritten.rows).toBeGreaterThan(0)
  expect(rewritten.rows).toBeLessThan(rows)
  expect(read('select count(*) from sync_rewrites')).toEqual([0])
  expect(readAll() === before).toBe(true)
  expect(read('select distinct length(entry_hash) from visitor_activity')).toEqual([32])
})
