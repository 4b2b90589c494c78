/** `migrate` over a warehouse of an older version: its progress, and what `kill -9` leaves. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { databases, type TestDatabase } from '../support/databases.ts'
import { openOlderWarehouse } from '../warehouse/older-warehouse.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

const rows = 40_000

/** Copies of the first message. */
const copies = `with recursive n(i) as (select 2 union all select i + 1 from n where i < ${rows})
  insert into messages (project_id, conversation_id, id, raw, synced_at, asked_at, sender_type, kind, content)
  select project_id, 'c' || i / 20, i, json_object('id', i, 'conversationId', 'c' || i / 20, 'senderType', sender_type,
    'kind', kind, 'content', content), synced_at, asked_at, sender_type, kind, content from messages, n where id = 1`

test('migrate that is killed leaves a warehouse that can be read, and the next one continues', async () => {
  const sqlite = databases.find(({ name }) => name === 'sqlite') as TestDatabase
  const { database, query, close } = await openOlderWarehouse(sqlite, 1)
  await query(copies)
  await close()
  const url = database.url ?? ''
  const file = new Database(url.replace('sqlite:', ''))
  onTestFinished(() => void file.close())
  const read = (text: string) => file.prepare(text).pluck().all()
  const messages = "select json_extract(raw, '$.id', '$.conversationId', '$.content') from messages order by id"
  const before = read(messages)
  const environment = { DESKMIRROR_DATABASE_URL: url }
  const cwd = url.replace(/^sqlite:(.*)\/.*/, '$1')
  const killed = spawn(process.execPath, [launcher, 'migrate'], {
    cwd,
    env: cleanEnvironment(environment),
    stdio: 'ignore',
  })
  const ended = once(killed, 'exit')
  const position = "select position from sync_rewrites where position <> ''"
  await vi.waitFor(() => expect(read(position)).toHaveLength(1), { timeout: 120_000, interval: 5 })
  killed.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(read(position)).toHaveLength(1)
  expect(read(messages)).toEqual(before)

  const next = await runDeskmirror(['migrate', '--json'], { cwd, env: environment })
  const { applied, rewritten } = JSON.parse(next.out)
  expect([next.exit, applied, rewritten.isComplete]).toEqual([0, [], true])
  expect(rewritten.rows).toBeGreaterThan(0)
  expect(rewritten.rows).toBeLessThan(rows)
  expect(read('select count(*) from sync_rewrites')).toEqual([0])
  expect(read(messages)).toEqual(before)
}, 60_000)
