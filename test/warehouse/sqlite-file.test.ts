/** What can happen to a SQLite file while it is in use, and before: a sentence each, and never a mirror that is not there. */
import { chmodSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { UserError } from '../../src/core/user-error.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { emptyFolder } from '../cli/run-process.ts'
import { syncOnce, findDifferences } from '../sync/sync-sandbox.ts'

async function setUp(): Promise<{ readonly sandbox: Sandbox; readonly path: string; readonly url: string }> {
  const sandbox = await startSandbox({
    size: { conversations: 8, visitors: 4, calls: 2, days: 1 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(() => sandbox.stop())
  const path = join(emptyFolder(), 'desk.db')
  return { sandbox, path, url: `sqlite:${path}` }
}

async function errorSentence(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => 'it worked',
    (thrown: unknown) => thrown,
  )
  return error instanceof UserError ? `${error.exitCode} ${error.why} → ${error.next}` : String(error)
}

/** Does something in the middle of a sync. */
function duringSync(what: () => void) {
  let pages = 0
  return { onProgress: () => ++pages === 8 && what() }
}

const fileReplacedError = /^1 the file was moved, removed or replaced while it was in use; what was written since then is not in it/

test('a file that is removed under a sync ends it, and the next one begins anew', async () => {
  const { sandbox, path, url } = await setUp()
  const remove = duringSync(() => {
    for (const ending of ['', '-wal', '-shm']) rmSync(path + ending)
  })
  expect(await errorSentence(syncOnce(url, sandbox, remove))).toMatch(fileReplacedError)
  expect(await syncOnce(url, sandbox)).toMatchObject({ outcome: 'complete' })
  const warehouse = await openWarehouse(url)
  expect(await findDifferences(warehouse, sandbox)).toEqual([])
  await warehouse.close()
})

test('a file that another one takes the place of ends a sync, and the other one stays as it is', async () => {
  const { sandbox, path, url } = await setUp()
  const replace = duringSync(() => {
    renameSync(path, `${path}.old`)
    writeFileSync(path, 'somebody else wrote this')
  })
  expect(await errorSentence(syncOnce(url, sandbox, replace))).toMatch(fileReplacedError)
  expect(readFileSync(path, 'utf8')).toBe('somebody else wrote this')
})

test('a table that somebody dropped is missed', async () => {
  const { sandbox, path, url } = await setUp()
  const drop = duringSync(() => {
    const other = new Database(path)
    other.exec('drop table messages')
    other.close()
  })
  expect(await errorSentence(syncOnce(url, sandbox, drop))).toMatch(/^2 one of its tables is missing → restore/)
})

test('a file that was cut in half is damaged, and said to be', async () => {
  const { sandbox, path, url } = await setUp()
  await syncOnce(url, sandbox)
  truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096)
  expect(await errorSentence(syncOnce(url, sandbox))).toMatch(/^2 the file is damaged → restore it from a backup/)
})

test('a new file is for its owner only, whoever makes it; one that is there keeps its mode', async () => {
  const { path, url } = await setUp()
  const modes = () => ['', '-wal', '-shm'].map((ending) => (statSync(path + ending).mode & 0o777).toString(8))
  const warehouse = await openWarehouse(url)
  expect(modes()).toEqual(['600', '600', '600'])
  await warehouse.close()
  chmodSync(path, 0o640)
  const again = await openWarehouse(url)
  expect(modes()).toEqual(['640', '640', '640'])
  await again.close()
})
