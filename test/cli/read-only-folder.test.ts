/**
 * Commands that write nothing read a SQLite file in a folder that is read-only, without a copy of
 * customers' data being left.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTempFolder } from '../support/temp-folder.ts'
import { runDeskmirror } from './run-process.ts'
import { startCliScenario } from './scenario.ts'

/** Root may write everywhere. */
const nobody = process.getuid?.() === 0 ? 65_534 : undefined

/** As a read-only volume has the files of a warehouse: those with these endings. */
async function startTest(
  atEnd: (work: () => void | Promise<void>) => void,
  endings: readonly string[],
) {
  const d = await startCliScenario(atEnd)
  // In the write-ahead log, while the connection is open.
  await d.warehouse.query("update visitors set name = 'Ada Lovelace'")
  const parent = createTempFolder(atEnd)
  chmodSync(parent, 0o755)
  const folder = join(parent, 'volume')
  const temporary = createTempFolder(atEnd)
  mkdirSync(folder)
  const path = join(folder, 'main.db')
  if (endings.length === 0) await d.warehouse.query(`vacuum into '${path}'`)
  else
    for (const ending of ['', ...endings])
      copyFileSync(join(d.folder, `deskmirror.db${ending}`), `${path}${ending}`)
  // The copy of a vacuum has no write-ahead log.
  if (endings.length === 0) setWriteAheadLog(path)
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444)
  chmodSync(folder, 0o555)
  chmodSync(temporary, 0o777)
  atEnd(() => chmodSync(folder, 0o755))
  if (nobody !== undefined) chownSync(temporary, nobody, nobody)
  const env = {
    DESKMIRROR_DATABASE_URL: `sqlite:${path}`,
    DESKMIRROR_BASE_URL: d.service.baseUrl,
    DESKMIRROR_PROJECT_ID: d.service.projectId,
    DESKMIRROR_API_KEY: d.service.key,
    TMPDIR: temporary,
  }
  const user = nobody === undefined ? {} : { user: nobody }
  const run = (args: readonly string[], input = '') =>
    runDeskmirror(args, { cwd: folder, env, input, ...user })
  return { ...d, run, path, temporary }
}

/** Bytes 18 and 19 of the header. */
function setWriteAheadLog(path: string): void {
  writeFileSync(path, readFileSync(path).fill(2, 18, 20))
}

test('without a log beside it, it is copied, and the copy is removed', async ({
  onTestFinished,
}) => {
  const d = await startTest(onTestFinished, [])
  const before = statSync(d.path).mtimeMs
  const status = await d.run(['status'])
  expect([status.exit, status.err, status.out]).toEqual([
    0,
    '',
    expect.stringContaining('conversations'),
  ])
  const exported = await d.run(['export', 'visitors', '--columns', 'id', '--quiet'])
  expect([exported.exit, exported.out.trim().split(/\s+/).length]).toEqual([0, 13])
  const sheet = await d.run(['writeback', 'sheet'])
  expect([sheet.exit, sheet.err]).toEqual([0, ''])
  const report = await d.run(['report', d.path])
  expect(report.err).not.toMatch(/writable|read-only/)
  expect(readdirSync(d.temporary)).toEqual([])
  expect(statSync(d.path).mtimeMs).toBe(before)
})

test('a writer elsewhere has made what is needed beside it, and its changes are read', async ({
  onTestFinished,
}) => {
  const d = await startTest(onTestFinished, ['-wal', '-shm'])
  const { exit, err, out } = await d.run(['export', 'visitors', '--columns', 'name', '--quiet'])
  expect([exit, err, out.match(/Ada Lovelace/g)?.length]).toEqual([0, '', 12])
})

test('a file that this user may not read is said to be so, whatever its folder is', async ({
  onTestFinished,
}) => {
  const d = await startTest(onTestFinished, [])
  chmodSync(d.path, 0)
  const { exit, err } = await d.run(['status'])
  expect([exit, err]).toEqual([
    2,
    expect.stringMatching(
      /: this user has no permission to read it\n {2}→ run as the user that owns/,
    ),
  ])
})

test('changes that cannot be read there are said, with what to do', async ({ onTestFinished }) => {
  const d = await startTest(onTestFinished, ['-wal'])
  const { exit, err } = await d.run(['status'])
  expect([exit, err]).toEqual([
    2,
    expect.stringContaining(
      'its last changes are in the file -wal, which SQLite cannot read there',
    ),
  ])
  expect(readdirSync(d.temporary)).toEqual([])
})
