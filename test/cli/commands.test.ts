/** The real commands against a sandbox, in normal use and with errors. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { startPrivateRedis } from '../support/redis-server.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { runInProcess } from './run-in-process.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

const size = {
  conversations: 30,
  visitors: 10,
  calls: 8,
  messagesPerConversation: 5,
  activityPerVisitor: 3,
  days: 3,
}
const parent = createTempFolder(afterAll)
let service: Sandbox
beforeAll(async () => {
  service = await startSandbox({ size, prefix: '/v1' })
  service.addKey({
    key: 'svc_live_no_calls',
    scopes: ['conversations:read', 'visitors:read', 'analytics:read', 'availability:read'],
  })
})
afterAll(() => service.stop())

/** Removed with `parent`: concurrent tests have no `onTestFinished`. */
function folderIn(parent: string): string {
  return mkdtempSync(join(parent, 'run-'))
}

function environmentOf(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    DESKMIRROR_BASE_URL: service.baseUrl,
    DESKMIRROR_PROJECT_ID: service.projectId,
    DESKMIRROR_API_KEY: service.key,
    ...more,
  }
}

test.concurrent('check and status name what is not stored as it came, and what else is kept', async () => {
  const cwd = folderIn(parent)
  const env = { DESKMIRROR_API_KEY: service.key, HASH_KEY: 'a-key-of-an-installation' }
  const settings = {
    base_url: service.baseUrl,
    columns: { 'visitors.email': 'hash', 'messages.content': 'block', '*.ip': 'block' },
    hash_key: { env: 'HASH_KEY' },
    history: ['visitors'],
    projects: {
      shop: { project_id: service.projectId, api_key: { env: 'DESKMIRROR_API_KEY' } },
    },
  }
  writeFileSync(join(cwd, 'deskmirror.yaml'), JSON.stringify(settings))
  const run = (...args: string[]) => runInProcess(args, { cwd, env })
  await run('migrate')
  for (const command of ['check', 'status']) {
    const { out } = await run(command)
    expect(out).toMatch(
      /columns +never stored: messages.content, \*\.ip; only as a hash: visitors.email/,
    )
    expect(out).toMatch(/history +.*visitors/)
  }
})

test.concurrent('check, migrate, sync, sync again, status, verify: a first day of use', async () => {
  const [cwd, env] = [folderIn(parent), environmentOf()]
  const run = (...args: string[]) => runInProcess(args, { cwd, env })

  const check = await run('check')
  expect(check.out).toMatch(/✓ connection/)
  expect(check.out).toMatch(/✓ conversations:read/)
  expect(existsSync(join(cwd, 'deskmirror.db'))).toBe(false)

  const migrate = await run('migrate', '--json')
  expect([migrate.exit, JSON.parse(migrate.out).from]).toEqual([0, null])

  const first = await runDeskmirror(['sync'], { cwd, env })
  expect(first.exit).toBe(0)
  expect(first.out).toMatch(/^conversations +5 requests +[3-9][0-9] rows +30 changed/m)
  expect(first.out).toMatch(/^default .* complete$/m)
  expect(first.err).not.toMatch(/warn|error/)

  const second = await run('sync', '--json', '--quiet')
  const [report] = JSON.parse(second.out).projects
  expect([second.exit, report.project, report.outcome, report.gaps]).toEqual([
    0,
    'default',
    'complete',
    [],
  ])
  expect(report.requests).toBeLessThanOrEqual(8)

  const status = await run('status')
  expect(status.exit).toBe(0)
  expect(status.out).toMatch(/^last run +incremental, complete/m)
  expect(status.out).toMatch(/^conversations +30 +0 +0/m)

  const rebuild = await run('migrate', '--rebuild-analytics', '--json', '--quiet')
  expect([rebuild.exit, JSON.parse(rebuild.out).projects]).toMatchObject([
    0,
    [{ project: 'default', conversations: 30, outcome: 'complete' }],
  ])

  const verify = await run('verify', '--quiet', '--json')
  expect([verify.exit, JSON.parse(verify.out).projects[0].differences]).toEqual([0, []])
  for (const { out, err } of [check, migrate, first, second, status, verify])
    expect(out + err).not.toContain(service.key)
})

describe.concurrent('an error is one clear message, with 2 for a person and 1 if trying again may help', () => {
  test.each([
    ['a wrong key', { DESKMIRROR_API_KEY: 'svc_live_unknown_key' }, 2, /key/],
    [
      'a key of another project',
      { DESKMIRROR_PROJECT_ID: '00000000-0000-4000-8000-000000000000' },
      2,
      /project/,
    ],
    ['a folder instead of a file', { DESKMIRROR_DATABASE_URL: 'sqlite:/' }, 2, /it is a folder/],
    [
      'a folder that is not there',
      { DESKMIRROR_DATABASE_URL: 'sqlite:no/such/folder/mirror.db' },
      2,
      /no\/such\/folder/,
    ],
    [
      'a Postgres that is down',
      { DESKMIRROR_DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/mirror' },
      1,
      /127\.0\.0\.1/,
    ],
  ])('%s', async (_, wrong, exit, says) => {
    const result = await runInProcess(['sync', '--quiet'], {
      cwd: parent,
      env: environmentOf(wrong),
    })
    expect(result).toMatchObject({ exit, err: expect.stringMatching(says) })
    expect(result.err).not.toMatch(/^ {4}at |hunter2|svc_live_unknown_key/m)
    expect(result.err.trimEnd().split('\n').length).toBeLessThanOrEqual(3)
  })

  test.each([
    ['the variable', '', /create the folder, or name another path in DESKMIRROR_DATABASE_URL$/m],
    [
      'the file',
      'database_url: sqlite:no/such/folder/mirror.db',
      /another path in database_url of deskmirror.yaml$/m,
    ],
  ])(
    'a folder that is not there, from %s: the setting to change is named',
    async (_, top, says) => {
      const cwd = folderIn(parent)
      const { DESKMIRROR_PROJECT_ID: id, ...env } = environmentOf()
      const project = `shop: { project_id: ${id}, api_key: { env: DESKMIRROR_API_KEY } }`
      writeFileSync(join(cwd, 'deskmirror.yaml'), `${top}\nprojects:\n  ${project}\n`)
      const variable: Record<string, string> =
        top === '' ? { DESKMIRROR_DATABASE_URL: 'sqlite:no/such/folder/mirror.db' } : {}
      for (const command of ['sync', 'status']) {
        const { exit, err } = await runInProcess([command], { cwd, env: { ...env, ...variable } })
        expect([exit, err]).toEqual([2, expect.stringMatching(says)])
      }
    },
  )

  test('a file that is not a database', async () => {
    writeFileSync(
      join(parent, 'letter.db'),
      'this is a letter to my aunt, and no database at all'.repeat(50),
    )
    const result = await runInProcess(['sync', '--quiet'], {
      cwd: parent,
      env: environmentOf({ DESKMIRROR_DATABASE_URL: 'sqlite:letter.db' }),
    })
    expect(result).toMatchObject({ exit: 2, out: '' })
    expect(result.err).not.toMatch(/^ {4}at /m)
  })
})

test.concurrent('check says that an address without the version of the API may lack it', async () => {
  const [cwd, env] = [
    folderIn(parent),
    environmentOf({ DESKMIRROR_BASE_URL: service.baseUrl.replace(/\/v1$/, '') }),
  ]
  const { exit, out } = await runInProcess(['check'], { cwd, env })
  expect([exit, out]).toEqual([
    2,
    expect.stringMatching(/404.*\n +→ .*DESKMIRROR_BASE_URL.*version.*\/v1/m),
  ])
})

test.concurrent('check says that Redis does not accept a password, and not that it is away', async () => {
  const redis = await startPrivateRedis({ durable: false, settings: { requirepass: 'right' } })
  try {
    const url = redis.url.replace('//', '//:wrong-one@')
    const [cwd, env] = [folderIn(parent), environmentOf({ DESKMIRROR_QUEUE_URL: url })]
    await runInProcess(['migrate'], { cwd, env })
    const { exit, out, err } = await runInProcess(['check'], { cwd, env })
    expect([exit, out + err]).toEqual([
      2,
      expect.stringMatching(/it denies access.*\n *→ correct user and password/),
    ])
    expect(out + err).not.toMatch(/wrong-one|start Redis/)
  } finally {
    await redis.stop()
  }
})

test.concurrent('an address where a web page is, is wrong, and is said to be at once', async () => {
  let asked = 0
  const website = createServer((_, response) => {
    asked += 1
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Our product</title>')
  })
  await new Promise<void>((listening) => website.listen(0, '127.0.0.1', listening))
  const address = `http://127.0.0.1:${(website.address() as AddressInfo).port}/v1`
  const [cwd, env] = [folderIn(parent), environmentOf({ DESKMIRROR_BASE_URL: address })]
  try {
    const check = await runInProcess(['check'], { cwd, env })
    expect([check.exit, check.out]).toEqual([
      2,
      expect.stringMatching(/web page.*\n +→ .*DESKMIRROR_BASE_URL/),
    ])
    expect(asked).toBe(1)
    const sync = await runInProcess(['sync', '--quiet', '--streams', 'conversations'], { cwd, env })
    expect([sync.exit, sync.err]).toEqual([
      2,
      expect.stringMatching(/this API is not served.*web page.*\n +→ check DESKMIRROR_BASE_URL/),
    ])
    expect(asked).toBe(2)
    // Where a mirror has been read from, it may be a page about maintenance.
    expect((await runInProcess(['sync', '--quiet'], { cwd, env: environmentOf() })).exit).toBe(0)
    const later = await runInProcess(['sync', '--quiet', '--streams', 'availability'], { cwd, env })
    expect([later.exit, later.err]).toEqual([1, expect.stringContaining('try again later')])
  } finally {
    website.close()
  }
})

test.concurrent('check says that an id which the service refuses is none of a project', async () => {
  const [cwd, env] = [folderIn(parent), environmentOf({ DESKMIRROR_PROJECT_ID: 'Support' })]
  const { exit, out } = await runInProcess(['check'], { cwd, env })
  expect([exit, out]).toEqual([
    2,
    expect.stringMatching(/^! project +a project's id is a UUID.*\n +→ .*DESKMIRROR_PROJECT_ID/m),
  ])
  const right = await runInProcess(['check'], { cwd, env: environmentOf() })
  expect([right.exit, right.out]).toEqual([0, expect.not.stringContaining('UUID')])
})

test.concurrent('check of a file with projects says what is wrong in it, and nothing about first steps', async () => {
  const cwd = folderIn(parent)
  writeFileSync(
    join(cwd, 'deskmirror.yaml'),
    'projects:\n  shop: { project_id: p, base_url: https://h/v1, rate: often }\n',
  )
  const { exit, out } = await runInProcess(['check'], { cwd, env: { DESKMIRROR_API_KEY: 'k' } })
  expect([exit, out]).toEqual([2, expect.stringContaining('projects.shop.rate')])
  expect(out).not.toContain('First steps')
})

test.concurrent('check shows the first steps where one is missing, and not where another setting is', async () => {
  const cwd = folderIn(parent)
  writeFileSync(join(cwd, 'deskmirror.yaml'), 'columns: { visitors.email: hash }\n')
  const check = async (env: Readonly<Record<string, string>>) =>
    (await runInProcess(['check'], { cwd, env })).out
  const { DESKMIRROR_API_KEY: _, ...unfinished } = environmentOf()
  expect(await check(unfinished)).toContain('First steps')
  const out = await check(environmentOf())
  expect(out).toContain('DESKMIRROR_HASH_KEY')
  expect(out).not.toContain('First steps')
})

test.concurrent('a wrong channel is said by check and status, which go on', async () => {
  const cwd = folderIn(parent)
  const env = { ...environmentOf(), DESKMIRROR_NOTIFY: 'hooks.example.com/x' }
  const check = await runInProcess(['check'], { cwd, env })
  expect(check).toMatchObject({
    exit: 2,
    out: expect.stringMatching(/✓ warehouse[\s\S]*✗ notify +must be an https address/),
    err: expect.not.stringContaining('NOTIFY'),
  })
  expect((await runInProcess(['sync', '--quiet'], { cwd, env })).exit).toBe(0)
  expect(await runInProcess(['status'], { cwd, env })).toMatchObject({
    exit: 0,
    err: expect.stringMatching(/^deskmirror: DESKMIRROR_NOTIFY must be .*: nothing is posted\n$/),
  })
})

test.concurrent('migrate is for all projects: one of them is refused', async () => {
  const migrated = await runInProcess(['migrate', '--project', 'default'], {
    cwd: folderIn(parent),
    env: environmentOf(),
  })
  expect(migrated).toMatchObject({
    exit: 2,
    err: expect.stringContaining('add --rebuild-analytics'),
  })
})

test.concurrent('no server at the address: one message soon, and 1 because trying again may help', async () => {
  const cwd = folderIn(parent)
  const args = ['sync', '--quiet', '--streams', 'availability']
  const { exit, out, err } = await runInProcess(args, {
    cwd,
    env: environmentOf({ DESKMIRROR_BASE_URL: 'http://127.0.0.1:1' }),
  })
  expect([exit, out]).toEqual([1, ''])
  expect(err).toMatch(/the service does not answer at http:\/\/127\.0\.0\.1:1\/? .*ECONNREFUSED/s)
  expect(err).not.toMatch(/\n\s+at /)
})

test.concurrent('another service at the address: one message, and 2 because a person must change something', async () => {
  const cwd = folderIn(parent)
  const { exit, err } = await runInProcess(['sync', '--quiet'], {
    cwd,
    env: environmentOf({ DESKMIRROR_BASE_URL: `${environmentOf().DESKMIRROR_BASE_URL}/not-here` }),
  })
  expect(exit).toBe(2)
  expect(err).toMatch(/this API is not served at .*check DESKMIRROR_BASE_URL/s)
})

test.concurrent('a missing scope is named, its streams are skipped, the others are synced: 3', async () => {
  const [cwd, env] = [folderIn(parent), environmentOf({ DESKMIRROR_API_KEY: 'svc_live_no_calls' })]
  const { exit, out } = await runInProcess(['sync', '--quiet'], { cwd, env })
  expect(exit).toBe(3)
  expect(out).toMatch(/^skipped: calls, call_recordings: the key lacks the scope calls:read$/m)
  expect(out).toMatch(/^conversations +5 requests +[3-9][0-9] rows/m)
  expect((await runInProcess(['check'], { cwd, env })).exit).toBe(3)
})

test('two syncs at the same time: the second one names the holder of the project, and ends with 1', async () => {
  const [cwd, env] = [folderIn(parent), environmentOf()]
  // Longer than the second one takes on a busy machine, as the first one makes many requests.
  const release = slowDown(500)
  const first = spawn(process.execPath, [launcher, 'sync', '--quiet'], {
    cwd,
    env: cleanEnvironment(env),
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => first.on('close', resolve))
  await waitForRequests(service, 1)
  const second = await runInProcess(['sync', '--quiet'], { cwd, env })
  release()
  expect(second.exit).toBe(1)
  expect(second.err).toContain(String(first.pid))
  expect(await ended).toBe(0)
})

test('SIGINT stops after the current page and ends with 1; the next sync continues', async () => {
  const [cwd, env] = [folderIn(parent), environmentOf()]
  const release = slowDown()
  const child = spawn(process.execPath, [launcher, 'sync', '--json'], {
    cwd,
    env: cleanEnvironment(env),
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  await waitForRequests(service, 8)
  child.kill('SIGINT')
  expect(await ended).toBe(1)
  release()
  expect(err).toContain('stopping after the current page')
  expect(JSON.parse(out).projects[0].outcome).toBe('interrupted')
  expect(await runInProcess(['sync', '--quiet'], { cwd, env })).toMatchObject({ exit: 0 })
})

/** Delays every response, and clears the log. */
function slowDown(ms = 300): () => void {
  service.resetLog()
  service.setSwitches({ 'latency.after': ms })
  return () => service.setSwitches({ 'latency.after': 0 })
}

async function waitForRequests({ log }: Sandbox, atLeast: number): Promise<void> {
  await expect.poll(() => log().length, { interval: 20 }).toBeGreaterThanOrEqual(atLeast)
}
