/** A refusal by the system is reported with what to do, and not as a bug. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { explainError, renderError } from '../../src/cli/explain-error.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

const env = {
  DESKMIRROR_BASE_URL: 'http://127.0.0.1:1',
  DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  DESKMIRROR_API_KEY: 'svc_live_0123456789',
}

test('a working folder that was removed', async () => {
  const cwd = join(createTempFolder(), 'gone')
  mkdirSync(cwd)
  const removed = `rmdir ../gone && exec "$0" "$1" status`
  const run = () =>
    execFileSync('sh', ['-c', removed, process.execPath, launcher], {
      cwd,
      env: cleanEnvironment(env),
      stdio: 'pipe',
    })
  expect(run).toThrow(
    /deskmirror: cannot work in this folder: it was removed\n {2}→ change into a folder that is there/,
  )
})

/**
 * Runs it in a folder that its user may not enter; the rights that root has besides are taken away.
 */
function statusInClosedFolder(variables: Readonly<Record<string, string>> = {}) {
  const cwd = createTempFolder()
  const unprivileged =
    process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []
  const script = 'chmod 0 . && exec "$@"'
  const [program = '', ...args] = [
    ...unprivileged,
    'sh',
    '-c',
    script,
    'sh',
    process.execPath,
    launcher,
    'status',
  ]
  const result = spawnSync(program, args, {
    cwd,
    env: cleanEnvironment({ ...env, ...variables }),
    encoding: 'utf8',
  })
  chmodSync(cwd, 0o700)
  return { ...result, cwd }
}

test('a working folder that its user may not enter is named, and not its files', () => {
  const { status, stderr, cwd } = statusInClosedFolder()
  expect([status, stderr]).toEqual([
    2,
    `deskmirror: cannot work in the folder ${cwd}: this user may not enter it\n` +
      '  → give the folder to this user (in a container, its mount), or start deskmirror in another one\n',
  ])
})

test('standard output on a full disk: 1, with a message', () => {
  const full = openSync('/dev/full', 'w')
  const args = [launcher, 'sandbox', '--help']
  const run = () =>
    execFileSync(process.execPath, args, {
      env: cleanEnvironment(),
      stdio: ['ignore', full, 'pipe'],
    })
  expect(run).toThrow(/deskmirror: cannot write the result to standard output: the disk is full/)
})

test('an import file that does not exist', async () => {
  const { exit, err } = await runDeskmirror(['writeback', 'import', 'replies.csv'], {
    cwd: createTempFolder(),
    env,
  })
  expect([exit, err]).toEqual([
    2,
    'deskmirror: cannot read replies.csv: there is no such file or folder\n  → check the path and its permissions\n',
  ])
})

test('an uncaught error: no stack, and no secret of its message', () => {
  const message = 'lost postgres://me:hunter2@db/mirror'
  const thrown = `data:text/javascript,process.once('beforeExit', () => { throw new Error('${message}') })`
  const args = ['--import', thrown, launcher, '--version']
  const run = () => execFileSync(process.execPath, args, { env: cleanEnvironment(), stdio: 'pipe' })
  expect(run).toThrow(
    /deskmirror: this is a bug in deskmirror: Error: lost postgres:\/\/…@db\/mirror\n {2}→ [^\n]*\n$/,
  )
})

test.each([
  ['ENOSPC', 1, 'the disk is full'],
  ['EROFS', 2, 'the file system is read-only'],
  ['EACCES', 2, 'permission denied'],
  ['EIO', 1, 'the disk reported an error'],
])('%s, wherever it occurs', (code, exitCode, why) => {
  const error = Object.assign(new Error(`${code}: …, write`), {
    code,
    syscall: 'write',
    path: '/mnt/data/x',
  })
  const explanation = explainError(error)
  expect(explanation).toMatchObject({ exitCode, why, what: 'cannot use /mnt/data/x' })
  expect(renderError(explanation, true).join('\n')).not.toMatch(/bug|Error/)
})
