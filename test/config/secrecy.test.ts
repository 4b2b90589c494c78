/** Secrets in the wrong place: nothing that is printed repeats them. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { explainError, renderError } from '../../src/cli/explain-error.ts'
import { collectSecrets } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createLog } from '../../src/log.ts'
import { explainOpenError } from '../../src/warehouse/explain-error.ts'
import { locationLabel, parseDatabaseUrl } from '../../src/warehouse/location.ts'
import { sampledCount } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'

let folder = ''
beforeEach(() => {
  folder = createTempFolder()
})

const needed = {
  DESKMIRROR_BASE_URL: 'https://api.example.com/v1',
  DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  DESKMIRROR_API_KEY: 'svc_live_0123456789abcdef',
}

/**
 * Everything that a command could print about a configuration: its problems, or the error of an
 * unreachable server.
 */
function printedOf(environment: Record<string, string>): string {
  try {
    const config = loadConfig('service', folder, environment)
    const lines: string[] = [inspect(config.warnings)]
    const location = parseDatabaseUrl(config.databaseUrl)
    const error = explainOpenError(
      location,
      Object.assign(new Error(`no ${config.databaseUrl}`), { code: 'ECONNREFUSED' }),
    )
    const log = createLog({
      level: 'info',
      pretty: false,
      secrets: collectSecrets(config),
      write: (line) => lines.push(line),
    })
    log.error({ event: 'test', why: `no route to ${config.databaseUrl} nor ${config.queueUrl}` })
    return [...lines, locationLabel(location), ...renderError(explainError(error), true)].join('\n')
  } catch (error) {
    return `${renderError(explainError(error), true).join('\n')}${inspect(error, { depth: 5 })}`
  }
}

/** Recognisable in the output, and containing every character that has a meaning in a URL. */
const password = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...'/@#?%: \\[]&=+0123456789aß\t'), maxLength: 8 }),
    fc.constantFrom('hunter2X', 'Tr0ub4dor'),
    fc.string({ unit: fc.constantFrom(...'/@#?%: \\[]&=+0123456789bü\n'), maxLength: 8 }),
  )
  .map((parts) => parts.join(''))

/** Whether a recognisable part of the password was printed. */
function isPrinted(printed: string): boolean {
  return /hunter2X|Tr0ub4dor/i.test(printed)
}

describe('no part of a password in an address is ever printed', () => {
  const written = fc.constantFrom<(secret: string) => string>(
    (text) => `postgres://user:${text}@db.internal:5432/mirror`,
    (text) => `postgresql://user:${text}@db.internal/mirror?sslmode=require`,
    (text) => `postgres://:${text}@/mirror`,
    // Without a host, a password with a / or an @ in it looks like one with a host behind it.
    (text) => `postgres://user:${text.replace(/[/@]/g, '')}`,
    (text) => `postgres:user:${text}@host/mirror`,
    (text) => `postgres://db.internal/mirror?user=me&password=${text}`,
    (text) => `redis://:${text}@cache:6379/0`,
    (text) => `rediss://default:${text}@cache`,
    (text) => `redis+cluster://user:${text}@first:6379,second:6379`,
    (text) => `rediss-sentinel://user:${text}@first:26379,second:26379/mymaster/0`,
    (text) => `redis-sentinel://first,second/mymaster?sentinel_password=${text}`,
    (text) => `sqlite://user:${text}@host/mirror`,
    (text) => `mysql://user:${text}@host/mirror`,
    (text) => `https://user:${text}@api.example.com/v1`,
    (text) => `http://${text}@api.example.com/v1`,
    (text) => `user:${text}@host`,
  )

  test('whatever the password is made of, whichever variable the address is in', () => {
    const variables = [
      'DATABASE_URL',
      'QUEUE_URL',
      'BASE_URL',
      'WIDGET_URL',
      'NOTIFY',
      'CONSOLE_URL',
      'HTTP',
      'RATE',
      'PROJECT_ID',
      'CONFIG',
    ]
    const places = fc.constantFrom(
      ...variables,
      'API_KEY_FILE',
      'TIME_ZONE',
      'START_DATE',
      'LOG_LEVEL',
    )
    fc.assert(
      fc.property(written, password, places, (write, secret, place) => {
        const { DESKMIRROR_API_KEY, ...others } = needed
        const key = place === 'API_KEY_FILE' ? {} : { DESKMIRROR_API_KEY }
        const printed = printedOf({ ...others, ...key, [`DESKMIRROR_${place}`]: write(secret) })
        expect(isPrinted(printed), printed).toBe(false)
      }),
      { numRuns: sampledCount(250, 1000) },
    )
  })

  test('one that a URL cannot hold is refused, with the way to write it', () => {
    const printed = printedOf({
      ...needed,
      DESKMIRROR_DATABASE_URL: 'postgres://user:12/ab@db.internal/mirror',
    })
    expect(printed).toMatch(
      /DESKMIRROR_DATABASE_URL is not a URL that can be read: in a password write \/ as %2F/,
    )
    expect(parseDatabaseUrl('postgres://user:12%2Fab@db.internal/mirror')).toMatchObject({
      kind: 'postgres',
    })
  })

  test('in the file, an address with any password is refused', () => {
    fc.assert(
      fc.property(password, (secret) => {
        const url = JSON.stringify(`postgres://user:${secret}@db/desk`)
        writeFileSync(join(folder, 'deskmirror.yaml'), `database_url: ${url}\n`)
        const printed = printedOf(needed)
        expect(isPrinted(printed), printed).toBe(false)
        expect(printed).toMatch(/deskmirror\.yaml:1 database_url contains a password/)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a key in the wrong place is refused and not repeated', () => {
  const secrets = [
    'svc_live_0a1b2c3d4e5f',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'c29tZSBzZWNyZXQgdGV4dA==',
  ]
  const places = [
    'API_KEY_FILE',
    'CONFIG',
    'PROJECT_ID',
    'RATE',
    'TIME_ZONE',
    'HTTP',
    'DATABASE_URL',
    'QUEUE_URL',
  ]

  test.each([...places, 'BASE_URL', 'WIDGET_URL', 'NOTIFY', 'SCHEDULE_INCREMENTAL', 'LOG_LEVEL'])(
    'in DESKMIRROR_%s',
    (place) => {
      const { DESKMIRROR_API_KEY, ...others } = needed
      const key = place === 'API_KEY_FILE' ? {} : { DESKMIRROR_API_KEY }
      for (const secret of secrets) {
        // A project id may be any text, so only the service's own keys are recognised.
        if (place === 'PROJECT_ID' && !secret.startsWith('svc_')) continue
        for (const text of [
          secret,
          `./${secret}`,
          `https://${secret}`,
          `https://api.example.com/${secret}`,
        ]) {
          const printed = printedOf({ ...others, ...key, [`DESKMIRROR_${place}`]: text })
          expect(printed.toLowerCase(), `${place}=${text}`).not.toContain(secret.toLowerCase())
        }
      }
    },
  )

  test('the address of `notify` is a secret as a whole, and must be https or of this machine', () => {
    const load =
      (notify: string, needs: 'worker' | 'service' | 'mirror' = 'worker') =>
      () =>
        loadConfig(needs, folder, { ...needed, DESKMIRROR_NOTIFY: notify })
    const address = 'https://hooks.example.com/T0/B0/hunter2X?sig=Tr0ub4dor'
    expect(collectSecrets(load(address)())).toContain(address)
    expect(load('http://127.0.0.1:8065/hooks/x')().projects[0]?.notify?.reveal()).toContain('8065')
    for (const wrong of ['http://hooks.example.com/x', 'hooks.example.com/x', 'https://a:b@h/x']) {
      expect(load(wrong)).toThrow(/DESKMIRROR_NOTIFY must (be an https address|have no user name)/)
      // Commands that post nothing, such as the one that stops all sending, only say so.
      for (const needs of ['service', 'mirror'] as const)
        expect(load(wrong, needs)().warnings).toEqual([
          expect.stringMatching(/^DESKMIRROR_NOTIFY must .*: nothing is posted$/),
        ])
    }
  })

  test('DESKMIRROR_API_KEY_FILE with the key itself explains the problem', () => {
    const { DESKMIRROR_API_KEY: _, ...others } = needed
    const printed = printedOf({ ...others, DESKMIRROR_API_KEY_FILE: 'svc_live_0a1b2c3d4e5f' })
    expect(printed).toContain('DESKMIRROR_API_KEY_FILE contains an API key instead of')
  })

  test.each([
    'api_key: SECRET',
    'api_key: { env: SECRET }',
    'api_key: { file: SECRET }',
    'api_key: { file: ./SECRET }',
    'api_key: { SECRET }',
    'api_key: { env: X, SECRET: 1 }',
    'api_key: [SECRET]',
    'api_key: *SECRET',
    'api_key: &SECRET',
    'api_key: !SECRET x',
    'api_key: !!binary SECRET',
    'api_key: &a SECRET\n    webhook_secret: *a',
    'api_key: |\n      SECRET\n      SECRET',
    'api_key: >-\n      SECRET\n',
    'api_key: "SECRET',
    "api_key: 'SECRET\n  ",
    'api_key:SECRET',
    'api_key SECRET',
    '? SECRET\n    : 1',
    '? { SECRET: 1 }\n    : 1',
    'SECRET: 1',
    'SECRET',
    '<<: { SECRET: 1 }',
    '<<: *SECRET',
    'api_key: { env: K }\n    api_key: SECRET',
    'webhook_secret: [{ env: SECRET }, *SECRET]',
    'notify: https://hooks.example.com/SECRET',
    'rate: SECRET',
    'rate: { of: SECRET }',
    'project_id: [SECRET]',
    'base_url: SECRET',
    'schedules: { incremental: SECRET }',
    'schedules: { SECRET: 5m }',
    'streams: [SECRET]',
  ])('in the file: %j', (line) => {
    for (const secret of secrets) {
      for (const [top, indent] of [
        ['projects:\n  shop:\n', '    '],
        [`projects:\n  ${secret}:\n`, '    '],
        ['', ''],
      ]) {
        const lines = `${indent}${line}`.replaceAll('SECRET', secret)
        writeFileSync(
          join(folder, 'deskmirror.yaml'),
          `${top}${indent === '' ? lines.replace(/^ {4}/gm, '') : lines}\n`,
        )
        const { DESKMIRROR_PROJECT_ID, ...others } = needed
        const printed = printedOf(indent === '' ? { ...others, DESKMIRROR_PROJECT_ID } : others)
        expect(printed).not.toContain(secret)
        expect(printed).not.toMatch(/bug in deskmirror(?!\.yaml)/)
      }
    }
  })
})

describe('a file that the YAML library gives up on causes one message', () => {
  const aliases = ['a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]']
  for (let n = 1; n < 12; n++)
    aliases.push(
      `a${n}: &a${n} [${Array(10)
        .fill(`*a${n - 1}`)
        .join(', ')}]`,
    )

  test.each([
    ['aliases of aliases', aliases.join('\n')],
    ['nesting', '['.repeat(20_000)],
    ['an alias of itself', 'a: &a [*a]\nb: *a'],
    ['a merge of itself', 'a: &a { <<: *a }'],
  ])('%s', (_, text) => {
    writeFileSync(join(folder, 'deskmirror.yaml'), text)
    const printed = printedOf(needed)
    expect(printed).toMatch(/the configuration has (a problem|\d+ problems)/)
    expect(printed.length).toBeLessThan(20_000)
  })
})
