/** The configuration: its sources, their precedence, and how every problem in it is reported. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { collectSecrets } from '../../src/config/config.ts'
import { defaultRetention } from '../../src/config/fields.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigurationError } from '../../src/config/problems.ts'
import { readConfig } from '../../src/config/read.ts'
import { defaultSchedules } from '../../src/config/schedules.ts'
import { createTempFolder } from '../support/temp-folder.ts'

let folder = ''
beforeEach(() => {
  folder = createTempFolder()
})

const key = 'svc_live_0123456789abcdef'
const needed = {
  DESKMIRROR_BASE_URL: 'https://api.example.com/v1',
  DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  DESKMIRROR_API_KEY: key,
}

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

function load(environment: Record<string, string> = needed) {
  return loadConfig('service', folder, environment)
}

function thrownBy(work: () => unknown): ConfigurationError {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigurationError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

function problemsOf(
  environment: Record<string, string> = {},
  needs: Parameters<typeof loadConfig>[0] = 'service',
): string[] {
  try {
    loadConfig(needs, folder, environment)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(key)
    return error.problems.map(({ where, why }) => `${where} ${why}`)
  }
  return []
}

const numbers = Array.from({ length: 1_000 }, (_, n) => n)

describe('one project is described by variables', () => {
  test('an address, a project and a key are enough; everything else has a default', () => {
    const { projects, warnings, files, ...globals } = load()
    expect(files).toEqual([
      join(folder, '.env'),
      join(folder, 'deskmirror.yaml'),
      join(folder, '.pgpass'),
    ])
    expect(globals).toEqual({
      databaseUrl: 'sqlite:deskmirror.db',
      databaseSetting: 'DESKMIRROR_DATABASE_URL',
      lake: null,
      console: { people: [] },
      consoleUrl: null,
      analystDatabaseUrl: null,
      queueUrl: 'embedded',
      http: { host: '127.0.0.1', port: 8484 },
      httpToken: null,
      metricsToken: null,
      trustedProxies: [],
      concurrency: 40,
      retention: defaultRetention,
      readOnly: false,
      person: null,
      logLevel: 'info',
      logLevelChosen: false,
    })
    expect(warnings).toEqual([])
    const { apiKey, baseUrl, widgetUrl, streams, analytics, ...project } = projects[0]!
    expect(project).toEqual({
      lake: null,
      name: 'default',
      projectId: needed.DESKMIRROR_PROJECT_ID,
      webhookSecrets: [],
      rate: { requests: 600, windowMs: 60_000 },
      proxy: { address: null, exceptions: '' },
      rateMargin: 0.02,
      writeRate: { requests: 120, windowMs: 60_000 },
      reserve: 0,
      startDate: null,
      timeZone: 'UTC',
      lookBackMs: 600_000,
      verifyAfterMs: 120_000,
      resendReplies: true,
      approveOver: null,
      auditSample: 500,
      approveGraceMs: 30_000,
      approveOwn: true,
      search: true,
      schedules: defaultSchedules,
      schema: 'discover',
      columns: [],
      hashKey: null,
      replies: {},
      replyAs: null,
      notify: null,
      history: [],
      readOnly: false,
      loadedAt: expect.any(Number),
    })
    expect([baseUrl.href, widgetUrl, apiKey.reveal(), streams.length]).toEqual([
      'https://api.example.com/v1',
      null,
      key,
      8,
    ])
  })

  test('every variable is parsed', () => {
    const config = load({
      ...needed,
      DESKMIRROR_WIDGET_URL: 'https://widget.example.com/',
      DESKMIRROR_DATABASE_URL: 'postgres://me:pw@db.internal/mirror',
      DESKMIRROR_QUEUE_URL: 'redis://127.0.0.1:6379',
      DESKMIRROR_RATE: '1000/1m',
      DESKMIRROR_WRITE_RATE: '10/s',
      DESKMIRROR_RATE_MARGIN: '0.05',
      DESKMIRROR_START_DATE: '2024-02-29',
      DESKMIRROR_TIME_ZONE: 'Europe/Berlin',
      DESKMIRROR_LOOK_BACK: '2m',
      DESKMIRROR_VERIFY_AFTER: '5m',
      DESKMIRROR_RESEND_REPLIES: 'off',
      DESKMIRROR_APPROVE_OVER: '500',
      DESKMIRROR_APPROVE_GRACE: '2m',
      DESKMIRROR_APPROVE_OWN: 'off',
      DESKMIRROR_PERSON: ' Ann Example ',
      DESKMIRROR_READ_ONLY: 'yes',
      DESKMIRROR_WEBHOOK_SECRET: 'whsec',
      DESKMIRROR_HTTP: '[::1]:0',
      DESKMIRROR_HTTP_TOKEN: 'open-sesame',
      DESKMIRROR_CONCURRENCY: '250',
      DESKMIRROR_SCHEDULE_INCREMENTAL: '30s',
      DESKMIRROR_SCHEDULE_RECONCILE: '0 3 * * sun',
      DESKMIRROR_SCHEDULE_ANALYTICS: 'off',
      DESKMIRROR_SCHEDULE_AVAILABILITY: '*/10 * * * * *',
      DESKMIRROR_LOG_LEVEL: 'debug',
    })
    const project = config.projects[0]!
    expect(config).toMatchObject({
      databaseUrl: 'postgres://me:pw@db.internal/mirror',
      queueUrl: 'redis://127.0.0.1:6379',
      http: { host: '::1', port: 0 },
      concurrency: 250,
      readOnly: true,
      person: 'Ann Example',
      logLevel: 'debug',
      logLevelChosen: true,
    })
    expect(project).toMatchObject({
      rate: { requests: 1000, windowMs: 60_000 },
      rateMargin: 0.05,
      writeRate: { requests: 10, windowMs: 1000 },
      startDate: Date.UTC(2024, 1, 29) / 1000,
      timeZone: 'Europe/Berlin',
      lookBackMs: 120_000,
      verifyAfterMs: 300_000,
      resendReplies: false,
      approveOver: 500,
      approveGraceMs: 120_000,
      approveOwn: false,
      readOnly: true,
    })
    expect(config.httpToken?.reveal()).toBe('open-sesame')
    expect(project.schedules).toEqual({
      incremental: { kind: 'every', ms: 30_000 },
      reconcile: { kind: 'cron', pattern: '0 3 * * sun' },
      analytics: { kind: 'off' },
      availability: { kind: 'cron', pattern: '*/10 * * * * *' },
      audit: { kind: 'nightly' },
    })
    expect(project.widgetUrl?.href).toBe('https://widget.example.com/')
    expect(project.webhookSecrets.map((hook) => hook.reveal())).toEqual(['whsec'])
  })

  test('.env is read, and the environment wins over it', () => {
    write(
      '.env',
      `DESKMIRROR_API_KEY="${key}"\nDESKMIRROR_PROJECT_ID=from-file # comment\nDESKMIRROR_TIME_ZONE=Asia/Tokyo\n`,
    )
    const { projects } = load({
      DESKMIRROR_BASE_URL: 'https://h',
      DESKMIRROR_PROJECT_ID: 'from-environment',
    })
    expect(projects[0]).toMatchObject({ projectId: 'from-environment', timeZone: 'Asia/Tokyo' })
    expect(projects[0]!.apiKey.reveal()).toBe(key)
  })

  test('the key can be in a file, whose final line break is not part of it', () => {
    const { DESKMIRROR_API_KEY: _, ...others } = needed
    const path = write('key.txt', `${key}\n`)
    expect(load({ ...others, DESKMIRROR_API_KEY_FILE: path }).projects[0]!.apiKey.reveal()).toBe(
      key,
    )
    expect(problemsOf({ ...needed, DESKMIRROR_API_KEY_FILE: path })).toEqual([
      'DESKMIRROR_API_KEY and DESKMIRROR_API_KEY_FILE are both set: keep only one',
    ])
    expect(problemsOf({ ...others, DESKMIRROR_API_KEY_FILE: join(folder, 'nowhere') })).toEqual([
      `DESKMIRROR_API_KEY_FILE points to ${join(folder, 'nowhere')}, which does not exist`,
    ])
  })

  test('an empty variable counts as not set', () => {
    expect(problemsOf({ ...needed, DESKMIRROR_API_KEY: '' })[0]).toMatch(
      /^DESKMIRROR_API_KEY is missing/,
    )
    expect(load({ ...needed, DESKMIRROR_RATE: '' }).projects[0]!.rate.requests).toBe(600)
    expect(load({ ...needed, DESKMIRROR_RATE_MARGIN: '' }).projects[0]!.rateMargin).toBe(0.02)
  })
})

describe('every problem is reported', () => {
  test('all at once', () => {
    expect(problemsOf()).toEqual([
      'DESKMIRROR_BASE_URL is missing: the address of the service, like https://api.example.com/v1',
      "DESKMIRROR_PROJECT_ID is missing: the project's id, a UUID (in YAML: in quotes)",
      "DESKMIRROR_API_KEY is missing: the project's API key, created in the app under Settings > API keys",
    ])
  })

  test.each([
    ['DESKMIRROR_RATE', '600', /is "600": write requests per window, like 600\/60s/],
    ['DESKMIRROR_RATE', '0/60s', /is "0\/60s"/],
    ['DESKMIRROR_RATE_MARGIN', '2%', /is "2%": write a share between 0 and 0.5, like 0.02/],
    ['DESKMIRROR_RATE_MARGIN', '0.6', /is "0.6"/],
    ['DESKMIRROR_RATE_MARGIN', 'learned', /is "learned"/],
    ['DESKMIRROR_WRITE_RATE', 'x/60s', /is "x\/60s"/],
    ['DESKMIRROR_VERIFY_AFTER', '2 minutes', /is "2 minutes": write a duration, like 120s or 5m/],
    ['DESKMIRROR_TIME_ZONE', 'Berlin', /is "Berlin": write an IANA time zone/],
    ['DESKMIRROR_START_DATE', '2023-02-29', /is "2023-02-29": write a date/],
    ['DESKMIRROR_START_DATE', '01.02.2023', /write a date/],
    ['DESKMIRROR_HTTP', '8484', /is "8484": write host:port/],
    ['DESKMIRROR_CONCURRENCY', '0', /is "0": write a whole number between 1 and 1000/],
    ['DESKMIRROR_CONCURRENCY', 'many', /is "many"/],
    ['DESKMIRROR_RETENTION', 'runs=1h', /is "runs=1h": write what is kept for how long/],
    ['DESKMIRROR_READ_ONLY', 'maybe', /is "maybe": write true or false/],
    ['DESKMIRROR_RESEND_REPLIES', '2', /is "2": write true or false/],
    ['DESKMIRROR_APPROVE_OVER', '-1', /is "-1": write a number of rows, like 500, or off/],
    [
      'DESKMIRROR_APPROVE_GRACE',
      '30',
      /is "30": write a duration of at most a day, like 30s, or off/,
    ],
    ['DESKMIRROR_APPROVE_GRACE', '25h', /write a duration of at most a day/],
    ['DESKMIRROR_PERSON', 'x'.repeat(101), /write a name of at most 100 characters/],
    ['DESKMIRROR_PERSON', 'an\u202en', /write a name of at most 100 characters/],
    ['DESKMIRROR_APPROVE_OVER', '2.5', /is "2.5": write a number of rows/],
    ['DESKMIRROR_LOG_LEVEL', 'loud', /is "loud": write one of trace, debug, info/],
    ['DESKMIRROR_DATABASE_URL', 'mysql://h/db', /must be sqlite:PATH or postgres:/],
    ['DESKMIRROR_QUEUE_URL', 'kafka', /must be redis:/],
    ['DESKMIRROR_PROJECT_ID', 'a/b', /is "a\/b": the project's id, a UUID/],
    ['DESKMIRROR_BASE_URL', 'http://example.com', /unencrypted; http:\/\/ is only for loopback/],
    ['DESKMIRROR_BASE_URL', 'api.example.com', /is not an absolute URL/],
    ['DESKMIRROR_BASE_URL', 'https://h/?a=1', /contains a query/],
  ])('%s=%s', (name, value, says) => {
    const found = problemsOf({ ...needed, [name]: value })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(says)
    expect(found[0]).toMatch(new RegExp(`^${name} `))
  })

  test('a queue in Postgres, with what to set instead, as a variable and in the file', () => {
    const address = 'postgresql://me:hunter2@h/jobs?schema=jobs'
    const problem = [
      "names a Postgres server, but jobs are kept in Redis or in the worker's process:",
      'set redis://host for several workers,',
      'or embedded for a single one, which works with a Postgres warehouse, too',
    ].join(' ')
    const variables = { ...needed, DESKMIRROR_QUEUE_URL: address }
    expect(problemsOf(variables)).toEqual([`DESKMIRROR_QUEUE_URL ${problem}`])
    expect(thrownBy(() => load(variables)).exitCode).toBe(2)
    const lines = ['queue_url: { env: QUEUE_URL }', 'projects:', '  shop:']
    for (const [name, value] of Object.entries({
      base_url: needed.DESKMIRROR_BASE_URL,
      project_id: needed.DESKMIRROR_PROJECT_ID,
      api_key: '{ env: SHOP_KEY }',
    }))
      lines.push(`    ${name}: ${value}`)
    write('deskmirror.yaml', `${lines.join('\n')}\n`)
    expect(problemsOf({ SHOP_KEY: key, QUEUE_URL: address })).toEqual([
      `deskmirror.yaml:1 queue_url ${problem}`,
    ])
  })

  test('without a secret that the value may contain', () => {
    expect(problemsOf({ ...needed, DESKMIRROR_PROJECT_ID: `${key}/x` }).join()).not.toContain(key)
    expect(
      problemsOf({ ...needed, DESKMIRROR_DATABASE_URL: 'mysql://me:hunter2@h/db' }).join(),
    ).not.toContain('hunter2')
    expect(problemsOf({ ...needed, DESKMIRROR_API_KEY: `${key} twice` })).toEqual([
      'DESKMIRROR_API_KEY points to the variable DESKMIRROR_API_KEY, which contains a space, a line break or a character that no key has',
    ])
  })

  test('and a variable that nothing reads causes a warning', () => {
    for (const [name, near] of [
      ['DESKMIRROR_BASEURL', ': perhaps DESKMIRROR_BASE_URL'],
      ['DeskMirror_Read_Only', ': perhaps DESKMIRROR_READ_ONLY'],
      ['DESKMIRROR-READ-ONLY', ': perhaps DESKMIRROR_READ_ONLY'],
      ['deskmirror.read.only', ': perhaps DESKMIRROR_READ_ONLY'],
      ['DESKMIRROR_COLOUR', ''],
    ])
      expect(load({ ...needed, [name ?? '']: 'x' }).warnings).toEqual([
        `the variable ${name} is set, but deskmirror does not know it${near}`,
      ])
  })
})

describe('http is allowed for this machine only', () => {
  test.each([
    'http://localhost:8080',
    'http://127.0.0.1:1',
    'http://127.9.9.9',
    'http://[::1]:80/v1',
  ])('%s is accepted', (url) => {
    expect(problemsOf({ ...needed, DESKMIRROR_BASE_URL: url })).toEqual([])
  })
  test.each([
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'http://10.0.0.1',
    'http://0.0.0.0',
    'ftp://localhost',
  ])('%s is not', (url) =>
    expect(problemsOf({ ...needed, DESKMIRROR_BASE_URL: url })).toHaveLength(1),
  )
})

const yaml = `
database_url: sqlite:many.db
base_url: https://api.example.com/v1
rate: 300/60s
projects:
  shop:
    project_id: shop-1
    api_key: { env: SHOP_KEY }
    streams: [calls, conversations]
    reserve: 0.25
  school:
    project_id: school-1
    api_key: { file: school.key }
    base_url: https://eu.example.com
    rate: 60/60s
    schema: freeze
    history: []
history: [visitors, calls]
`

describe('many projects are described by deskmirror.yaml', () => {
  test('a project has its own settings, and inherits the others from the top of the file', () => {
    write('deskmirror.yaml', yaml)
    write('school.key', 'school-key\n')
    const { projects, databaseUrl } = load({ SHOP_KEY: key })
    expect(databaseUrl).toBe('sqlite:many.db')
    expect(
      projects.map(({ name, baseUrl, rate, schema, apiKey }) => [
        name,
        baseUrl.host,
        rate.requests,
        schema,
        apiKey.reveal(),
      ]),
    ).toEqual([
      ['shop', 'api.example.com', 300, 'discover', key],
      ['school', 'eu.example.com', 60, 'freeze', 'school-key'],
    ])
    expect(projects[0]).toMatchObject({ streams: ['calls', 'conversations'], reserve: 0.25 })
    expect(projects.map(({ history }) => history)).toEqual([['visitors', 'calls'], []])
  })

  test('a variable wins over the top of the file, a project over both', () => {
    write('deskmirror.yaml', yaml)
    write('school.key', 'k')
    const { projects, databaseUrl } = load({
      SHOP_KEY: key,
      DESKMIRROR_RATE: '1/1s',
      DESKMIRROR_DATABASE_URL: 'sqlite:x.db',
    })
    expect([databaseUrl, ...projects.map(({ rate }) => rate.requests)]).toEqual([
      'sqlite:x.db',
      1,
      60,
    ])
  })

  test('DESKMIRROR_CONFIG names another file, which has to exist', () => {
    const path = write('elsewhere.yml', yaml)
    write('school.key', 'k')
    expect(load({ SHOP_KEY: key, DESKMIRROR_CONFIG: path }).projects).toHaveLength(2)
    expect(problemsOf({ DESKMIRROR_CONFIG: 'nowhere.yml' })[0]).toMatch(
      /^DESKMIRROR_CONFIG cannot be read: there is no such file/,
    )
  })

  test('every problem is reported with its line', () => {
    write(
      'deskmirror.yaml',
      `rate: 5
color: red
projects:
  shop:
    base_url: http://example.com
    project_id: 12
    api_key: ${key}
    streams: [calls, cals]
    start: now
    history: [messages]
  the shop: {}
  bare:
`,
    )
    expect(problemsOf()).toEqual([
      'deskmirror.yaml:2 color is an unknown setting',
      expect.stringMatching(/^deskmirror\.yaml:5 projects\.shop\.base_url would send/),
      expect.stringMatching(/^deskmirror\.yaml:6 projects\.shop\.project_id is "12": .*in quotes/),
      expect.stringMatching(
        /^deskmirror\.yaml:7 projects\.shop\.api_key contains the secret itself: .*\{ env: NAME \}/,
      ),
      'deskmirror.yaml:1 rate is "5": write requests per window, like 600/60s',
      expect.stringMatching(
        /^deskmirror\.yaml:8 projects\.shop\.streams is "cals": write some of conversations, /,
      ),
      'deskmirror.yaml:10 projects.shop.history is "messages": write a list of some of conversations, visitors, calls',
      'deskmirror.yaml:9 projects.shop.start is an unknown setting: perhaps start_date',
      expect.stringMatching(/^deskmirror\.yaml:11 projects\.the shop is not a valid project name/),
      expect.stringMatching(/^deskmirror\.yaml:1\d projects\.bare must be a map of settings/),
    ])
  })

  test('a password in an address is a secret as well', () => {
    write('deskmirror.yaml', yaml.replace('sqlite:many.db', 'postgres://me:hunter2@db/mirror'))
    write('school.key', 'k')
    expect(problemsOf({ SHOP_KEY: key })).toEqual([
      'deskmirror.yaml:2 database_url contains a password: keep it in a variable or a file, and write { env: NAME } or { file: PATH } here',
    ])
    write('deskmirror.yaml', yaml.replace('sqlite:many.db', '{ env: MIRROR_DB }'))
    expect(
      load({ SHOP_KEY: key, MIRROR_DB: 'postgres://me:hunter2@db/mirror' }).databaseUrl,
    ).toContain('hunter2')
  })

  test('projects are described in one place', () => {
    write('deskmirror.yaml', yaml)
    write('school.key', 'k')
    expect(problemsOf({ ...needed, SHOP_KEY: key })[0]).toMatch(
      /projects and DESKMIRROR_PROJECT_ID are both set/,
    )
  })

  test.each([
    ['a: [1', /^deskmirror\.yaml:1 is not valid YAML/],
    ['a: 1\na: 2', /^deskmirror\.yaml:2 is not valid YAML \(duplicate key\)/],
    ['- a', /^deskmirror\.yaml:1 must be a map of settings/],
    ['projects: {}', /^deskmirror\.yaml:1 projects must be a map of at least one project/],
    ['projects: [a]', /projects must be a map/],
  ])('malformed: %j', (text, says) => {
    write('deskmirror.yaml', text)
    expect(problemsOf()[0]).toMatch(says)
  })

  test.each<[string, object]>([
    ['settings', Object.fromEntries(numbers.map((n) => [`wrong${n}`, 1]))],
    [
      'settings of a project',
      { projects: { shop: Object.fromEntries(numbers.map((n) => [`wrong${n}`, 1])) } },
    ],
    ['projects', { projects: Object.fromEntries(numbers.map((n) => [`p${n}`, {}])) }],
    ['values of a list', { projects: { shop: { streams: numbers.map(() => 'nothing') } } }],
  ])('of 1000 wrong %s the first 20 are located and reported', (_, values) => {
    let located = 0
    const locate = () => `deskmirror.yaml:${++located}`
    const readSecret = () => ({ why: 'is not set' })
    const read = () =>
      readConfig({ variables: {}, yaml: { values, locate }, readSecret, needs: 'service' })
    const { what, why } = thrownBy(read)
    expect(located).toBeLessThan(70)
    expect(what).toBe('the configuration has more than 20 problems')
    expect(why.split('\n').slice(20)).toEqual(['more problems follow; fix these first'])
  })

  test('malformed YAML is reported without its text', () => {
    write('deskmirror.yaml', `projects:\n  shop:\n    api_key: "${key}\n`)
    expect(problemsOf()[0]).toMatch(/^deskmirror\.yaml:\d is not valid YAML/)
  })
})

describe('writing is switched off for the whole program', () => {
  test.each([
    ['1', true],
    ['TRUE', true],
    ['on', true],
    ['0', false],
    ['no', false],
  ])('DESKMIRROR_READ_ONLY=%s: %s, for every project', (word, readOnly) => {
    write('deskmirror.yaml', `read_only: ${!readOnly}\n${yaml}`)
    write('school.key', 'k')
    const config = load({ SHOP_KEY: key, DESKMIRROR_READ_ONLY: word })
    expect([config, ...config.projects].map(({ readOnly: isReadOnly }) => isReadOnly)).toEqual([
      readOnly,
      readOnly,
      readOnly,
    ])
  })

  test('a project cannot allow what the program may not do', () => {
    write(
      'deskmirror.yaml',
      `read_only: true\n${yaml.replace('    reserve: 0.25', '    read_only: false')}`,
    )
    write('school.key', 'k')
    expect(problemsOf({ SHOP_KEY: key })).toEqual([
      'deskmirror.yaml:11 projects.shop.read_only is an unknown setting',
    ])
  })
})

test('approval and resending are set per project', () => {
  write(
    'deskmirror.yaml',
    `approve_over: 0\nresend_replies: false\n${yaml.replace('reserve: 0.25', 'approve_over: off')}`,
  )
  write('school.key', 'k')
  const { projects } = load({ SHOP_KEY: key })
  expect(projects.map(({ approveOver, resendReplies }) => [approveOver, resendReplies])).toEqual([
    [null, false],
    [0, false],
  ])
})

describe('there are several webhook secrets while one replaces another', () => {
  const secretsOf = (environment: Record<string, string>) =>
    load({ SHOP_KEY: key, ...environment }).projects[0]!.webhookSecrets.map((hook) => hook.reveal())

  test.each([
    ['old,new', ['old,new', 'old', 'new']],
    ['old new', ['old', 'new']],
    [' old,\tnew\n', ['old', 'new']],
    ['one', ['one']],
  ])(
    'the variable %j holds them between commas or white space, or one with a comma',
    (text, secrets) => {
      expect(secretsOf({ ...needed, DESKMIRROR_WEBHOOK_SECRET: text })).toEqual(secrets)
    },
  )

  test('the YAML file lists references; a referenced file holds one secret, unchanged', () => {
    write('school.key', 'k')
    write('old.secret', 'a,b\n')
    const line = 'webhook_secret: [{ file: old.secret }, { env: HOOKS }]'
    write('deskmirror.yaml', yaml.replace('reserve: 0.25', line))
    expect(secretsOf({ HOOKS: 'new newer' })).toEqual(['a,b', 'new', 'newer'])
    expect(load({ SHOP_KEY: key, HOOKS: 'new' }).projects[1]!.webhookSecrets).toEqual([])
    write('old.secret', 'two\nlines\n')
    expect(problemsOf({ SHOP_KEY: key, HOOKS: 'new' })).toEqual([
      expect.stringMatching(
        /^deskmirror\.yaml:10 projects\.shop\.webhook_secret points to \S+old\.secret, which contains a/,
      ),
    ])
  })

  test('none of them is printed or stored', () => {
    const { projects, ...globals } = load({ ...needed, DESKMIRROR_WEBHOOK_SECRET: 'hush-1,hush-2' })
    expect(
      inspect(projects, { depth: 9, showHidden: true }) + JSON.stringify(projects),
    ).not.toContain('hush')
    expect(collectSecrets({ projects, ...globals })).toEqual([
      key,
      'hush-1,hush-2',
      'hush-1',
      'hush-2',
    ])
    expect(problemsOf({ ...needed, DESKMIRROR_WEBHOOK_SECRET: ' , ' }).join()).toContain('is empty')
    write('school.key', 'k')
    write(
      'deskmirror.yaml',
      yaml.replace('reserve: 0.25', 'webhook_secret: [{ env: HOOKS }, hush-3]'),
    )
    expect(problemsOf({ SHOP_KEY: key, HOOKS: 'x' })).toEqual([
      expect.stringMatching(
        /^deskmirror\.yaml:10 projects\.shop\.webhook_secret contains the secret itself/,
      ),
    ])
  })
})

describe('a command requires only what it needs', () => {
  test('commands that only read the mirror need no key, and no address of a channel', () => {
    const { DESKMIRROR_API_KEY: _, ...others } = needed
    const [project] = loadConfig('mirror', folder, others).projects
    expect(project?.projectId).toBe(needed.DESKMIRROR_PROJECT_ID)
    expect(() => project?.apiKey.reveal()).toThrow(
      /a secret is needed: its setting points to the variable DESKMIRROR_API_KEY/,
    )
    write('deskmirror.yaml', 'notify: { env: MISSING }')
    expect(() => loadConfig('mirror', folder, others)).not.toThrow()
  })

  test('commands that only prepare the database need no project', () => {
    expect(loadConfig('database', folder, {})).toMatchObject({
      projects: [],
      databaseUrl: 'sqlite:deskmirror.db',
    })
    expect(problemsOf({ DESKMIRROR_DATABASE_URL: 'nonsense' }, 'database')).toHaveLength(1)
  })
})

test('printing the configuration does not reveal the key', () => {
  const config = load()
  const printed = [
    inspect(config, { depth: 9, showHidden: true }),
    JSON.stringify(config),
    `${config.projects[0]!.apiKey}`,
  ]
  for (const text of printed) {
    expect(text).not.toContain(key)
    expect(text).toContain('[secret]')
  }
})
