/** `deskmirror console` and `init` as a person runs them. */

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { openHttpServer } from '../../src/http/server.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { commit, conversation } from '../warehouse/row-fixtures.ts'
import { runInProcess } from './run-in-process.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

describe('console', () => {
  test('shows a warehouse without any configuration, to who has the link, and ends by Ctrl-C', async () => {
    const cwd = createTempFolder()
    const warehouse = await openWarehouse(`sqlite:${join(cwd, 'mirror.db')}`)
    await openMirror(warehouse, 'p-1').commit(commit('conversations', [conversation('c1')]))
    await warehouse.query(
      "insert into sync_streams (project_id, stream, synced_at) values ('p-1', 'conversations', '2026-01-01T00:00:00Z')",
    )
    await warehouse.close()
    const args = [launcher, 'console', 'mirror.db', '--no-open']
    const child = spawn(process.execPath, args, {
      cwd,
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [printed] = await once(child.stdout.setEncoding('utf8'), 'data')
    const link = new URL(
      /http:\/\/127\.0\.0\.1:\d+\/console\/sign-in\?code=[\w-]+/.exec(printed)?.[0] ?? '',
    )
    const body = new URLSearchParams({ name: 'me', code: link.searchParams.get('code') ?? '' })
    const signedIn = await fetch(new URL('/console/sign-in', link), {
      method: 'POST',
      body,
      headers: { origin: link.origin },
      redirect: 'manual',
    })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const page = await (await fetch(new URL('/', link), { headers: { cookie } })).text()
    expect(page).toContain('This warehouse is only looked at here')
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('says that a file does not answer, and ends by Ctrl-C all the same', async () => {
    const cwd = createTempFolder()
    const foreign = new Database(join(cwd, 'foreign.db'))
    foreign.exec('create table sync_schema (name)')
    foreign.close()
    // SQLite waits in a call of the system until another process writes what looks like its journal.
    execFileSync('mkfifo', [join(cwd, 'foreign.db-journal')])
    const args = [launcher, 'console', 'foreign.db', '--no-open']
    const child = spawn(process.execPath, args, {
      cwd,
      env: cleanEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [said] = await once(child.stderr.setEncoding('utf8'), 'data')
    expect(said).toContain('foreign.db has not answered for 5 s; Ctrl-C ends this')
    child.kill('SIGINT')
    await once(child, 'exit')
  })

  test('says what to do without a warehouse', async () => {
    const cwd = createTempFolder()
    const { exit, err } = await runInProcess(['console', 'none.db'], { cwd })
    expect([exit, err]).toEqual([
      2,
      expect.stringMatching(/there is no file none\.db[\s\S]*deskmirror demo --keep/),
    ])
  })

  test('says without configuration that a warehouse can be named', async () => {
    const { exit, err } = await runInProcess(['console'], { cwd: createTempFolder() })
    expect([exit, err]).toEqual([
      2,
      expect.stringMatching(
        /→ name a warehouse, as in `deskmirror console demo\.db`; or `deskmirror init`/,
      ),
    ])
  })

  test('--link prints a link to the console of the worker, and says if no worker answers there', async () => {
    const health = { isAlive: () => true, checkReadiness: async () => [] }
    const log = pino({ level: 'silent' })
    const server = await openHttpServer({
      host: '127.0.0.1',
      port: 0,
      token: null,
      health,
      metrics: null,
      log,
    })
    onTestFinished(server.close)
    const run = (...options: string[]) =>
      runInProcess(['console', '--link', ...options], {
        cwd: createTempFolder(),
        env: { DESKMIRROR_HTTP: server.address.replace('http://', '') },
      })
    const link = expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:\d+\/console\/sign-in\?code=[\w-]{24}\n?$/,
    )
    expect(await run()).toEqual({ exit: 0, out: link, err: '' })
    expect(JSON.parse((await run('--json')).out)).toEqual({ link, answers: true })

    await server.close()
    const note = expect.stringMatching(
      /^no worker answers at http:\/\/127\.0\.0\.1:\d+ now: start it with `deskmirror start`/,
    )
    expect(await run()).toEqual({ exit: 0, out: link, err: note })
    expect(JSON.parse((await run('--json')).out)).toEqual({ link, answers: false })
  })

  test('--json is for a link', async () => {
    const { exit, out, err } = await runInProcess(['console', '--json'], {
      cwd: createTempFolder(),
    })
    expect([exit, err]).toEqual([2, expect.stringContaining('add --link')])
    expect(JSON.parse(out)).toMatchObject({ error: { next: 'add --link', exitCode: 2 } })
  })
})

describe('init without a terminal', () => {
  const folder = createTempFolder(afterAll)
  const keyFile = join(folder, 'key')
  let service: Sandbox
  beforeAll(async () => {
    service = await startSandbox({
      size: { conversations: 1, visitors: 1, calls: 0, days: 1 },
      prefix: '/v1',
    })
    writeFileSync(keyFile, `${service.key}\n`)
  })
  afterAll(() => service.stop())
  const args = () => ['init', '--base-url', service.baseUrl, '--project-id', service.projectId]

  test('tests the settings and writes them, without the key', async () => {
    const cwd = createTempFolder()
    const { exit, out } = await runDeskmirror([...args(), '--api-key-file', keyFile], { cwd })
    expect([exit, out]).toEqual([0, expect.stringContaining('Written to .env')])
    expect(out).toContain('✓')
    expect(out).toMatch(/settings\.md\)\.\n$/)
    const written = readFileSync(join(cwd, '.env'), 'utf8')
    expect(written).toContain(`DESKMIRROR_API_KEY_FILE=${keyFile}`)
    expect(written).not.toContain(service.key)
  })

  test('replaces an existing .env as a whole, and leaves a link to it: whoever reads it meanwhile has the old text', async () => {
    const cwd = createTempFolder()
    const kept = join(createTempFolder(), 'settings')
    writeFileSync(kept, '# ours\nDESKMIRROR_LOG_LEVEL=warn\n')
    chmodSync(kept, 0o644)
    symlinkSync(kept, join(cwd, '.env'))
    const reader = openSync(kept, 'r')
    const { exit } = await runInProcess([...args(), '--api-key-file', keyFile], { cwd })
    expect(exit).toBe(0)
    expect(readFileSync(reader, 'utf8')).toBe('# ours\nDESKMIRROR_LOG_LEVEL=warn\n')
    closeSync(reader)
    expect(readFileSync(kept, 'utf8')).toMatch(
      /^# ours\nDESKMIRROR_LOG_LEVEL=warn\nDESKMIRROR_BASE_URL=/,
    )
    expect(readlinkSync(join(cwd, '.env'))).toBe(kept)
    expect(statSync(kept).mode & 0o777).toBe(0o600)
    expect([readdirSync(dirname(kept)), readdirSync(cwd)]).toEqual([['settings'], ['.env']])
  })

  test('adds to deskmirror.yaml if there is one', async () => {
    const cwd = createTempFolder()
    writeFileSync(join(cwd, 'deskmirror.yaml'), '# ours\nprojects:\n  school: { project_id: x }\n')
    const { exit, out } = await runInProcess(
      [...args(), '--api-key-file', keyFile, '--name', 'shop'],
      { cwd },
    )
    expect([exit, out]).toEqual([0, expect.stringContaining('Written to deskmirror.yaml')])
    expect(readFileSync(join(cwd, 'deskmirror.yaml'), 'utf8')).toMatch(/^# ours\n[\s\S]*shop:/)
  })

  test.each([
    ['a name', 'Support', /a project's id is a UUID.*, not a name.*Settings > API keys/],
    [
      'an address',
      'https://app.example.com/p/7D1F4F6E-5a2b-4c3d-8e9f-0a1b2c3d4e5f/inbox',
      /write only the id: 7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f$/m,
    ],
    ['a part of an id', '7d1f4f6e-5a2b', /a project's id is a UUID/],
  ])('refuses %s in place of the id of a project', async (_, id, says) => {
    const given = [
      'init',
      '--base-url',
      service.baseUrl,
      '--project-id',
      id,
      '--api-key-file',
      keyFile,
    ]
    const { exit, out, err } = await runInProcess(given, { cwd: createTempFolder() })
    expect([exit, out, err]).toEqual([2, '', expect.stringMatching(says)])
  })

  test('says before it asks for anything that .env describes a project already', async () => {
    const cwd = createTempFolder()
    writeFileSync(join(cwd, '.env'), 'DESKMIRROR_BASE_URL=https://h/v1\n')
    const { exit, err } = await runInProcess(['init'], { cwd })
    expect([exit, err]).toEqual([2, expect.stringContaining('.env describes a project already')])
  })

  test('says what is missing, and what the service denies', async () => {
    const cwd = createTempFolder()
    expect(await runInProcess(args(), { cwd })).toMatchObject({
      exit: 2,
      err: expect.stringContaining('add --api-key-file'),
    })
    writeFileSync(join(cwd, 'wrong'), 'svc_live_wrong\n')
    const denied = await runInProcess([...args(), '--api-key-file', 'wrong'], { cwd })
    expect([denied.exit, denied.out]).toEqual([2, expect.stringContaining('Nothing was written')])
  })
})
