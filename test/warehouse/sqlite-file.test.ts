/**
 * What can happen to a SQLite file before and during its use: a clear message, never a sync into a
 * lost file.
 */
import {
  chmodSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { UserError } from '../../src/values/user-error.ts'
import { describeLargeLog } from '../../src/warehouse/sqlite-file.ts'
import { findDifferences, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createTempFolder } from '../support/temp-folder.ts'

async function setUp(): Promise<{
  readonly sandbox: Sandbox
  readonly path: string
  readonly url: string
}> {
  const sandbox = await startSandbox({
    size: { conversations: 8, visitors: 4, calls: 2, days: 1 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(() => sandbox.stop())
  const path = join(createTempFolder(), 'main.db')
  return { sandbox, path, url: `sqlite:${path}` }
}

async function errorSentence(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => 'it worked',
    (thrown: unknown) => thrown,
  )
  return error instanceof UserError
    ? `${error.exitCode} ${error.why} → ${error.next}`
    : String(error)
}

/** Calls `action` in the middle of a sync. */
function duringSync(action: () => void) {
  let pages = 0
  return { onProgress: () => ++pages === 8 && action() }
}

const fileReplacedError =
  /^1 the file was moved, removed or replaced while it was in use; what was written since then is not in it/

test('a large write-ahead log behind a reader is described', async () => {
  const { sandbox, path, url } = await setUp()
  await syncOnce(url, sandbox)
  const warehouse = await openWarehouse(url)
  onTestFinished(() => warehouse.close())
  const limit = 2 ** 20
  const grow = () =>
    warehouse.query(
      "insert into sync_cursors (project_id, stream, position) select 'p', hex(randomblob(8)), hex(randomblob(400000))",
    )
  expect(describeLargeLog(url, limit)).toBeNull()
  const reader = new Database(path, { readonly: true })
  reader.exec('begin; select * from conversations')
  for (let n = 0; n < 3; n += 1) await grow()
  expect(describeLargeLog(url, limit)).toMatch(/main\.db-wal has \d+ MB and grows/)
  reader.close()
})

test('removing the file during a sync ends the sync, and the next one starts from the beginning', async () => {
  const { sandbox, path, url } = await setUp()
  const remove = duringSync(() => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix)
  })
  expect(await errorSentence(syncOnce(url, sandbox, remove))).toMatch(fileReplacedError)
  expect(await syncOnce(url, sandbox)).toMatchObject({ outcome: 'complete' })
  const warehouse = await openWarehouse(url)
  expect(await findDifferences(warehouse, sandbox)).toEqual([])
  await warehouse.close()
})

test('replacing the file during a sync ends the sync, and the new file stays unchanged', async () => {
  const { sandbox, path, url } = await setUp()
  const replace = duringSync(() => {
    renameSync(path, `${path}.old`)
    writeFileSync(path, 'another program wrote this')
  })
  expect(await errorSentence(syncOnce(url, sandbox, replace))).toMatch(fileReplacedError)
  expect(readFileSync(path, 'utf8')).toBe('another program wrote this')
})

test('a dropped table is reported as missing', async () => {
  const { sandbox, path, url } = await setUp()
  const drop = duringSync(() => {
    const other = new Database(path)
    other.exec('drop table message_rows')
    other.close()
  })
  expect(await errorSentence(syncOnce(url, sandbox, drop))).toMatch(
    /^2 one of its tables is missing → restore/,
  )
})

test('a truncated file is reported as damaged', async () => {
  const { sandbox, path, url } = await setUp()
  await syncOnce(url, sandbox)
  truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096)
  expect(await errorSentence(syncOnce(url, sandbox))).toMatch(
    /^2 the file is damaged → restore it from a backup/,
  )
})

test('only the owner can read a new file; an existing file keeps its mode', async () => {
  const { path, url } = await setUp()
  const modes = () =>
    ['', '-wal', '-shm'].map((suffix) => (statSync(path + suffix).mode & 0o777).toString(8))
  const warehouse = await openWarehouse(url)
  expect(modes()).toEqual(['600', '600', '600'])
  await warehouse.close()
  chmodSync(path, 0o640)
  const again = await openWarehouse(url)
  expect(modes()).toEqual(['640', '640', '640'])
  await again.close()
})
