/** `deskmirror token` against a sandbox: prints the token on standard output, and nowhere else. */

import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { runInProcess } from './run-in-process.ts'
import { type ProcessResult, runDeskmirror } from './run-process.ts'

const size = { conversations: 3, visitors: 3, calls: 1, days: 1 }
const parent = createTempFolder(afterAll)
const services: Sandbox[] = []
let service: Sandbox
beforeAll(async () => {
  service = await startService({})
})
afterAll(async () => {
  for (const started of services) await started.stop()
})

async function startService(switches: Parameters<Sandbox['setSwitches']>[0]): Promise<Sandbox> {
  const started = await startSandbox({ size, prefix: '/v1', switches })
  services.push(started)
  return started
}

function createFolder(): string {
  return mkdtempSync(join(parent, 'run-'))
}

function runToken(
  args: readonly string[],
  env: Record<string, string> = {},
  at = service,
): Promise<ProcessResult> {
  const connected = {
    DESKMIRROR_BASE_URL: at.baseUrl,
    DESKMIRROR_WIDGET_URL: at.widgetUrl,
    DESKMIRROR_PROJECT_ID: at.projectId,
    DESKMIRROR_API_KEY: at.key,
  }
  return runInProcess(['token', ...args], { cwd: createFolder(), env: { ...connected, ...env } })
}

describe.concurrent('a token', () => {
  test('is a line by itself on standard output; nothing else is printed or written', async () => {
    const cwd = createFolder()
    const env = {
      DESKMIRROR_BASE_URL: service.baseUrl,
      DESKMIRROR_PROJECT_ID: 'p',
      DESKMIRROR_API_KEY: service.key,
    }
    const ended = await runDeskmirror(['token', '--email', 'ada@example.com'], { cwd, env })
    expect(ended).toEqual({ exit: 0, out: expect.stringMatching(/^wgt_\w+\n$/), err: '' })
    expect(readdirSync(cwd)).toEqual([])
  })

  test('is also requested at the root of the host, if the base URL has a path', async () => {
    const deep = { DESKMIRROR_BASE_URL: `${service.origin}/gateway/v3`, DESKMIRROR_WIDGET_URL: '' }
    expect(await runToken([], deep)).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^wgt_/),
      err: '',
    })
  })

  test('with --json comes with its project, its expiry, and the unchanged answer', async () => {
    const visitor = ['--email', 'ada@example.com', '--name', 'Ada', '--company', 'Engines']
    const session = [
      '--metadata',
      'plan=pro',
      '--metadata',
      'note=a=b',
      '--metadata',
      'empty=',
      '--ttl',
      '90',
    ]
    const { exit, out, err } = await runToken([
      '--json',
      '--project',
      'default',
      ...visitor,
      ...session,
    ])
    const document = JSON.parse(out)
    expect([exit, err, document]).toEqual([
      0,
      '',
      {
        project: 'default',
        token: expect.stringMatching(/^wgt_/),
        expiresAt: document.answer.expiresAt,
        answer: { token: document.token, ttl: 90, expiresAt: expect.stringMatching(/Z$/) },
      },
    ])
  })

  test('is minted even with writing switched off, because nothing in the project changes', async () => {
    expect(await runToken([], { DESKMIRROR_READ_ONLY: '1' })).toMatchObject({ exit: 0, err: '' })
  })

  test('uses a write slot of the budget that the warehouse holds for the key', async () => {
    const cwd = createFolder()
    const env = {
      DESKMIRROR_BASE_URL: service.baseUrl,
      DESKMIRROR_WIDGET_URL: service.widgetUrl,
      DESKMIRROR_PROJECT_ID: service.projectId,
      DESKMIRROR_API_KEY: service.key,
    }
    expect((await runInProcess(['migrate'], { cwd, env })).exit).toBe(0)
    expect((await runInProcess(['token'], { cwd, env })).exit).toBe(0)
    const warehouse = await openWarehouse(`sqlite:${join(cwd, 'deskmirror.db')}`, {
      access: 'read',
    })
    const budgets = await warehouse.query('select state from sync_budgets').finally(warehouse.close)
    const [{ all, writes }] = budgets.map(({ state }) => JSON.parse(String(state)))
    expect([budgets.length, writes.length > 0, writes]).toEqual([1, true, all])
  })
})

describe.concurrent('neither the token nor the key is printed, written or logged', () => {
  test('at the most detailed log level', async () => {
    const cwd = createFolder()
    const env = {
      DESKMIRROR_BASE_URL: service.baseUrl,
      DESKMIRROR_WIDGET_URL: service.widgetUrl,
      DESKMIRROR_PROJECT_ID: service.projectId,
      DESKMIRROR_API_KEY: service.key,
      DESKMIRROR_LOG_LEVEL: 'trace',
    }
    await runInProcess(['migrate'], { cwd, env })
    const { out, err } = await runDeskmirror(['token', '--email', 'ada@example.com'], { cwd, env })
    expect(err).toMatch(/"event":"request\.completed".*"status":200/)
    const written = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), 'latin1'))
    for (const secret of [out.trim(), service.key, 'ada@example.com'])
      expect([err, ...written].join('\n')).not.toContain(secret)
  })

  test('when a response has no token: the message names its fields', async () => {
    const { exit, out, err } = await runToken(
      [],
      { DESKMIRROR_LOG_LEVEL: 'debug' },
      await startService({ 'token.answer': 'none' }),
    )
    expect([exit, out]).toEqual([1, ''])
    expect(err).toMatch(
      /no token was recognized in the response: the service answered 200 with the fields id, queued/,
    )
    expect(err).not.toContain('7f0c5a52')
  })
})

test.concurrent.each(['access_token', 'text', 'bare', 'unnamed'] as const)(
  'is found in a response of the shape %s',
  async (shape) => {
    const { exit, out } = await runToken([], {}, await startService({ 'token.answer': shape }))
    expect([exit, out]).toEqual([0, expect.stringMatching(/^wgt_\w+\n$/)])
  },
)

describe.concurrent('if there is none, one message explains why and what to do', () => {
  test.each<[string, Record<string, string>, number, RegExp]>([
    [
      'a wrong key',
      { DESKMIRROR_API_KEY: 'svc_live_unknown' },
      2,
      /127\.0\.0\.1:\d+\/v1\/widget\/token does not take the key of the project default.*\n {2}→ `deskmirror check` shows/,
    ],
    [
      'another address',
      { DESKMIRROR_WIDGET_URL: 'BASE/elsewhere' },
      2,
      /from \S+\/elsewhere\/v1\/widget\/token \(.*404.*\n {2}→ DESKMIRROR_WIDGET_URL/,
    ],
    [
      'no server',
      { DESKMIRROR_WIDGET_URL: 'http://127.0.0.1:9' },
      1,
      /no widget token was received from http:\/\/127\.0\.0\.1:9.*\n {2}→ try again/,
    ],
    [
      'an unencrypted address',
      { DESKMIRROR_WIDGET_URL: 'http://widget.example.com' },
      2,
      /DESKMIRROR_WIDGET_URL .*unencrypted/,
    ],
  ])('%s', async (_, env, code, says) => {
    const variables = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value.replace('BASE', service.origin)]),
    )
    const { exit, out, err } = await runToken([], variables)
    expect([exit, out]).toEqual([code, ''])
    expect(err).toMatch(says)
    expect(err).not.toMatch(/svc_live|^ {4}at /m)
  })

  test('no likely address has it without DESKMIRROR_WIDGET_URL: all of them are named', async () => {
    const requested: unknown[] = []
    const server = createServer(({ url }, response) => {
      requested.push(url)
      response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { exit, err } = await runToken([], {
      DESKMIRROR_BASE_URL: `${origin}/v3`,
      DESKMIRROR_WIDGET_URL: '',
    })
    server.close()
    expect(requested).toEqual(['/v1/widget/token', '/v3/v1/widget/token'])
    const named = `from ${origin}/v1/widget/token, nor from ${origin}/v3/v1/widget/token (project default)`
    expect([exit, err]).toEqual([2, expect.stringContaining(named)])
  })

  test('a key that exceeds its rate', async () => {
    const busy = await startService({})
    busy.scriptFault({ kind: 'foreign-429' })
    const { exit, err } = await runToken([], {}, busy)
    expect([exit, err]).toEqual([
      1,
      expect.stringMatching(/mints no widget token at the moment.*\n {2}→ try again in 1 s/),
    ])
  })

  test('a redirect, and a lost answer: only one request', async () => {
    for (const [kind, code, says] of [
      ['redirect', 2, /redirects to/],
      ['reset-after', 1, /expires by itself/],
    ] as const) {
      const faulty = await startService({})
      faulty.scriptFault({ kind })
      const { exit, err } = await runToken([], {}, faulty)
      expect([exit, err]).toEqual([code, expect.stringMatching(says)])
      expect(faulty.log()).toHaveLength(1)
    }
  })

  test('with --json it is one document', async () => {
    const { exit, out } = await runToken(['--json'], { DESKMIRROR_API_KEY: 'svc_live_unknown' })
    expect([exit, JSON.parse(out)]).toEqual([
      2,
      { error: expect.objectContaining({ exitCode: 2 }) },
    ])
  })

  test('several projects without --project', async () => {
    const cwd = createFolder()
    const [first, second] = ['shop', 'school'].map(
      (name) => `  ${name}: { project_id: ${name}, api_key: { env: KEY } }`,
    )
    writeFileSync(
      join(cwd, 'deskmirror.yaml'),
      `base_url: ${service.widgetUrl}\nprojects:\n${first}\n${second}\n`,
    )
    const env = { KEY: service.key }
    const { exit, err } = await runInProcess(['token'], { cwd, env })
    expect([exit, err]).toEqual([
      2,
      expect.stringMatching(/one project.*shop, school\n {2}→ name one of those with --project/),
    ])
    expect((await runInProcess(['token', '--project', 'shop'], { cwd, env })).exit).toBe(0)
  })

  test.each([
    [['--metadata', 'plan'], /Write key=value/],
    [['--ttl', '0'], /Write a number of seconds, from 1/],
  ])('invalid options: %j', async (args, says) => {
    const { exit, out, err } = await runToken(args)
    expect([exit, out]).toEqual([2, ''])
    expect(err).toMatch(says)
  })
})
