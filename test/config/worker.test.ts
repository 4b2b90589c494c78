/** The worker's configuration: schedules, access to its HTTP server, concurrency. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { collectSecrets, resolveHttpExposure } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigurationError } from '../../src/config/problems.ts'
import { UserError } from '../../src/values/user-error.ts'
import { createTempFolder } from '../support/temp-folder.ts'

let folder = ''
beforeEach(() => {
  folder = createTempFolder()
})

const key = 'svc_live_0123456789abcdef'
const token = 'a-token-that-must-stay-secret'
const single = {
  DESKMIRROR_BASE_URL: 'https://api.example.com/v1',
  DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  DESKMIRROR_API_KEY: key,
}

function yaml(text: string): void {
  writeFileSync(join(folder, 'deskmirror.yaml'), text)
}

function load(
  environment: Record<string, string> = { KEY: key },
  needs: Parameters<typeof loadConfig>[0] = 'service',
) {
  return loadConfig(needs, folder, environment)
}

function problemsOf(environment?: Record<string, string>): string[] {
  try {
    load(environment)
  } catch (error) {
    if (error instanceof ConfigurationError)
      return error.problems.map(({ where, why }) => `${where} ${why}`)
    throw error
  }
  return []
}

/** A file with one project per line of settings. */
function projects(top: string, ...lines: readonly string[]): string {
  const described = lines.map(
    (line, nr) => `  p${nr}: { project_id: id-${nr}, api_key: { env: KEY }, ${line} }`,
  )
  return `base_url: https://api.example.com\n${top}\nprojects:\n${described.join('\n')}\n`
}

describe('schedules are parsed', () => {
  const projectWith = (schedule: string) =>
    load({ ...single, DESKMIRROR_SCHEDULE_INCREMENTAL: schedule }).projects[0]!

  test.each([
    ['1s', { kind: 'every', ms: 1000 }],
    ['5m', { kind: 'every', ms: 300_000 }],
    ['1h', { kind: 'every', ms: 3_600_000 }],
    ['0 3 * * *', { kind: 'cron', pattern: '0 3 * * *' }],
    ['*/30 * * * * *', { kind: 'cron', pattern: '*/30 * * * * *' }],
    ['15 2 * jan-jun mon,thu', { kind: 'cron', pattern: '15 2 * jan-jun mon,thu' }],
    ['0 6 L * *', { kind: 'cron', pattern: '0 6 L * *' }],
    ['nightly', { kind: 'nightly' }],
    ['off', { kind: 'off' }],
  ])('%s', (text, schedule) => expect(projectWith(text).schedules.incremental).toEqual(schedule))

  test.each([
    '500ms',
    '0s',
    '400d',
    '5',
    'hourly',
    '@daily',
    '* * * *',
    '* * * * * * *',
    '61 * * * *',
    '0 0 30 2 *',
    'H 3 * * *',
    '0 3 * * 8',
    '0 3 * * * ; x',
  ])('%j is not a schedule', (text) => {
    expect(problemsOf({ ...single, DESKMIRROR_SCHEDULE_INCREMENTAL: text })).toEqual([
      `DESKMIRROR_SCHEDULE_INCREMENTAL is "${text}": write a duration of at least 1s like 5m, a cron pattern like "0 3 * * *", nightly, or off`,
    ])
  })

  test('a project changes one schedule and inherits the others', () => {
    yaml(
      projects(
        'schedules: { incremental: 1m, analytics: off }',
        'schedules: { incremental: 10s }',
        'reserve: 0.1',
      ),
    )
    expect(load().projects.map(({ schedules }) => schedules)).toEqual([
      {
        incremental: { kind: 'every', ms: 10_000 },
        reconcile: { kind: 'nightly' },
        analytics: { kind: 'off' },
        availability: { kind: 'every', ms: 60_000 },
        audit: { kind: 'nightly' },
      },
      {
        incremental: { kind: 'every', ms: 60_000 },
        reconcile: { kind: 'nightly' },
        analytics: { kind: 'off' },
        availability: { kind: 'every', ms: 60_000 },
        audit: { kind: 'nightly' },
      },
    ])
  })

  test('a variable wins over the top of the file, a project over both', () => {
    yaml(
      projects('schedules: { incremental: 1m }', 'schedules: { incremental: 10s }', 'reserve: 0.1'),
    )
    const { projects: read } = load({ KEY: key, DESKMIRROR_SCHEDULE_INCREMENTAL: '2m' })
    expect(read.map(({ schedules }) => schedules.incremental)).toEqual([
      { kind: 'every', ms: 10_000 },
      { kind: 'every', ms: 120_000 },
    ])
  })

  test('a schedule of a stream that is not mirrored is no problem', () => {
    yaml(projects('', 'streams: [calls], schedules: { analytics: 1h, availability: off }'))
    expect(problemsOf()).toEqual([])
  })

  test('an invalid schedule is reported with its line', () => {
    yaml(
      projects(
        'schedules: { weekly: 1h, reconcile: soon }',
        'schedules: [1h]',
        'schedules: { analytics: 12 }',
      ),
    )
    expect(problemsOf()).toEqual([
      'deskmirror.yaml:4 projects.p0.schedules is a list: write a map, like { incremental: 5m, reconcile: nightly }',
      expect.stringMatching(/^deskmirror\.yaml:2 schedules\.reconcile is "soon": write a duration/),
      'deskmirror.yaml:2 schedules.weekly is an unknown setting',
      expect.stringMatching(
        /^deskmirror\.yaml:5 projects\.p1\.schedules\.analytics is "12": write a duration/,
      ),
    ])
  })
})

describe('projects are distinct', () => {
  test('the same project id twice is a problem, whatever the address', () => {
    yaml(`
base_url: https://api.example.com
projects:
  shop: { project_id: 7D1F4F6E, api_key: { env: KEY } }
  again: { project_id: 7d1f4f6e, api_key: { env: KEY }, base_url: https://api.example.com/v1 }
`)
    expect(problemsOf()).toEqual([
      'deskmirror.yaml:5 projects.again.project_id is also the project of shop: a warehouse mirrors each project once',
    ])
  })

  test('and so are names that differ only in upper and lower case', () => {
    yaml(`
base_url: https://api.example.com
projects:
  shop: { project_id: one, api_key: { env: KEY } }
  Shop: { project_id: two, api_key: { env: KEY } }
`)
    expect(problemsOf()).toEqual([
      'deskmirror.yaml:5 projects.Shop differs from shop only in upper and lower case',
    ])
  })
})

describe('proxies are trusted by their address', () => {
  test.each([
    ['127.0.0.1', ['127.0.0.1']],
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
  ])('%s', (text, expected) => {
    expect(load(single).trustedProxies).toEqual([])
    expect(load({ ...single, DESKMIRROR_TRUSTED_PROXIES: text }).trustedProxies).toEqual(expected)
    yaml(`trusted_proxies: [${expected.map((address) => `'${address}'`).join(', ')}]\n`)
    expect(load(single).trustedProxies).toEqual(expected)
  })

  test.each([
    'proxy.example',
    '0.0.0.0/0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'true',
    '::/129',
  ])('not by %s', (text) => {
    expect(problemsOf({ ...single, DESKMIRROR_TRUSTED_PROXIES: text })).toEqual([
      expect.stringMatching(
        /^DESKMIRROR_TRUSTED_PROXIES .*write addresses of proxies, like 127\.0\.0\.1/,
      ),
    ])
  })
})

describe('HTTP is for this machine, or for clients with the token', () => {
  const exposureOf = (environment: Record<string, string>) =>
    resolveHttpExposure(load({ ...single, ...environment }))

  test.each(['127.0.0.1:8484', '127.8.8.8:1', '[::1]:0', 'localhost:8484'])(
    '%s needs no token',
    (address) => {
      expect(exposureOf({ DESKMIRROR_HTTP: address })).toMatchObject({ token: null })
    },
  )

  test.each([
    '0.0.0.0:8484',
    '[::]:8484',
    '10.0.0.1:80',
    'mirror.internal:80',
    '127.0.0.1.nip.io:80',
  ])('%s needs one, which only the worker checks', (address) => {
    const config = load({ ...single, DESKMIRROR_HTTP: address })
    expect(() => resolveHttpExposure(config)).toThrow(/is open to other machines without a token/)
    expect(() => resolveHttpExposure(config)).toThrow(expect.objectContaining({ exitCode: 2 }))
    const { token: found } = exposureOf({ DESKMIRROR_HTTP: address, DESKMIRROR_HTTP_TOKEN: token })!
    expect(found?.reveal()).toBe(token)
  })

  test('off turns it off', () => {
    expect(exposureOf({ DESKMIRROR_HTTP: 'off' })).toBeNull()
    yaml('http: off\n')
    expect(exposureOf({})).toBeNull()
  })

  test('the token is a reference to a file that only the worker reads', () => {
    yaml('http_token: { file: token }\n')
    const config = load(single)
    expect(() => resolveHttpExposure(config)).toThrow(UserError)
    expect(collectSecrets(config)).toEqual([key])
    writeFileSync(join(folder, 'token'), `${token}\n`)
    expect(resolveHttpExposure(load(single))?.token?.reveal()).toBe(token)
    yaml(`http_token: ${token}\n`)
    expect(problemsOf(single)).toEqual([
      expect.stringMatching(/^deskmirror\.yaml:1 http_token contains the secret itself/),
    ])
    expect(problemsOf(single).join()).not.toContain(token)
  })

  test('printing the configuration does not reveal the token, and the log redacts it', () => {
    const config = load({
      ...single,
      DESKMIRROR_HTTP_TOKEN: token,
      DESKMIRROR_METRICS_TOKEN: `${token}-2`,
    })
    expect(inspect(config, { depth: 9, showHidden: true }) + JSON.stringify(config)).not.toContain(
      token,
    )
    expect(collectSecrets(config)).toEqual([token, `${token}-2`, key])
  })
})

test.each([
  ['1', 1],
  ['1000', 1000],
])('a worker runs %s sync jobs concurrently', (text, concurrency) => {
  expect(load({ ...single, DESKMIRROR_CONCURRENCY: text })).toMatchObject({ concurrency })
  yaml(`concurrency: ${text}\n`)
  expect(load(single)).toMatchObject({ concurrency })
})

test.each(['0', '1001', '1.5', '-1', 'all'])('but not %s', (text) => {
  yaml(`concurrency: ${text}\n`)
  expect(problemsOf(single)).toEqual([
    `deskmirror.yaml:1 concurrency is "${text}": write a whole number between 1 and 1000`,
  ])
})
