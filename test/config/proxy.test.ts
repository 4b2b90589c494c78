/** Which proxy leads to the service: variables as curl reads them, and the setting `proxy`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { collectSecrets } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigurationError } from '../../src/config/problems.ts'
import { findProxy, proxyOfVariables } from '../../src/config/proxy.ts'
import { createTempFolder } from '../support/temp-folder.ts'

/** `host:port` of the proxy; null: the address is reached directly. */
function proxyFor(address: string, variables: Readonly<Record<string, string>>): string | null {
  return findProxy(proxyOfVariables(variables), new URL(address))?.name ?? null
}

const service = 'https://api.example.com/v1'

describe('the variables', () => {
  test.for<[Record<string, string>, string | null]>([
    [{}, null],
    [{ HTTPS_PROXY: 'http://upper:1' }, 'upper:1'],
    [{ HTTPS_PROXY: 'http://upper:1', https_proxy: 'http://lower:2' }, 'lower:2'],
    [{ ALL_PROXY: 'http://all:3' }, 'all:3'],
    [{ ALL_PROXY: 'http://all:3', all_proxy: 'http://small:4' }, 'small:4'],
    [{ ALL_PROXY: 'http://all:3', HTTPS_PROXY: 'http://upper:1' }, 'upper:1'],
    [{ HTTP_PROXY: 'http://http:5', http_proxy: 'http://http:6' }, null],
  ])('%j', ([variables, proxy]) => {
    expect(proxyFor(service, variables)).toBe(proxy)
  })

  test.for<[string, string, string | null]>([
    ['http://proxy.example:3128', 'proxy.example:3128', null],
    ['proxy.example:3128', 'proxy.example:3128', null],
    ['proxy.example', 'proxy.example:1080', null],
    ['http://proxy.example', 'proxy.example:1080', null],
    ['http://proxy.example:80/', 'proxy.example:80', null],
    ['https://proxy.example', 'proxy.example:443', null],
    ['http://[2001:db8::1]:3128', '[2001:db8::1]:3128', null],
    ['http://ann:p%40ss%3A%2F@proxy.example:80', 'proxy.example:80', 'ann:p@ss:/'],
    ['http://ann@proxy.example:80', 'proxy.example:80', 'ann:'],
  ])('the address %s', ([address, name, user]) => {
    const proxy = findProxy(proxyOfVariables({ HTTPS_PROXY: address }), new URL(service))
    expect(proxy?.name).toBe(name)
    const sent = proxy?.authorization?.reveal().replace(/^Basic /, '')
    expect(sent === undefined ? null : Buffer.from(sent, 'base64').toString()).toBe(user)
  })

  test.for([
    'https://localhost:8443',
    'https://127.9.9.9',
    'https://[::1]:1',
    'http://localhost:1',
  ])('this machine is never reached through a proxy: %s', (address) => {
    expect(proxyFor(address, { HTTPS_PROXY: 'http://p:1', ALL_PROXY: 'http://p:1' })).toBe(null)
  })
})

describe('NO_PROXY', () => {
  const isDirect = (address: string, exceptions: string) =>
    proxyFor(address, { HTTPS_PROXY: 'http://p:1', NO_PROXY: exceptions }) === null

  test.for<[string, string, boolean]>([
    ['https://api.example.com', '', false],
    ['https://api.example.com', '*', true],
    ['https://api.example.com', 'example.com', true],
    ['https://api.example.com', '.example.com', true],
    ['https://api.example.com', '*.example.com', true],
    ['https://api.example.com', 'EXAMPLE.com.', true],
    ['https://api.example.com.', 'example.com', true],
    ['https://api.example.com', 'api.example.com', true],
    ['https://example.com', '.example.com', true],
    ['https://api.example.com', 'ample.com', false],
    ['https://api.example.com', 'com.example', false],
    ['https://api.example.com', 'other.net, example.com', true],
    ['https://api.example.com', 'other.net example.com', true],
    ['https://api.example.com', 'example.com:443', true],
    ['https://api.example.com', 'example.com:8443', false],
    ['https://api.example.com:8443', 'example.com:8443', true],
    ['https://api.example.com:8443', 'example.com', true],
    ['https://api.example.com', '*:8443', false],
    ['https://10.1.2.3', '10.1.2.3', true],
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://10.1.2.3', '10.1.2.0/25', true],
    ['https://10.1.2.3', '10.1.2.128/25', false],
    ['https://10.1.2.3', '0.0.0.0/0', true],
    ['https://10.1.2.3', '10.0.0.0/33', false],
    ['https://10.1.2.3', '10.0.0.0/x', false],
    ['https://10.1.2.3', '2.3', false],
    ['https://10.1.2.3:8443', '10.1.2.3:8443', true],
    ['https://[2001:db8::1]', '2001:db8::1', true],
    ['https://[2001:db8::1]', '[2001:db8::1]', true],
    ['https://[2001:db8::1]', '2001:db8::/32', true],
    ['https://[2001:db8::1]:8443', '[2001:db8::1]:8443', true],
    ['https://[2001:db8::1]', '2001:db9::/32', false],
    ['https://[2001:db8::1]', '10.0.0.0/8', false],
  ])('%s with %j is direct: %s', ([address, exceptions, expected]) => {
    expect(isDirect(address, exceptions)).toBe(expected)
  })

  test('its small letters win', () => {
    const variables = { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*', no_proxy: 'other.net' }
    expect(proxyFor(service, variables)).toBe('p:1')
  })
})

const needed = {
  DESKMIRROR_BASE_URL: service,
  DESKMIRROR_PROJECT_ID: '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f',
  DESKMIRROR_API_KEY: 'svc_live_0123456789abcdef',
}
const password = 'Tr0ub4dor%2F3'

/** The proxy of each project of a deskmirror.yaml; or the problems. */
function proxiesOf(lines: string, variables: Readonly<Record<string, string>> = {}) {
  const folder = createTempFolder()
  const projects = `
base_url: ${service}
projects:
  shop: { project_id: a, api_key: { env: KEY }, ${lines} }
  school: { project_id: b, api_key: { env: KEY } }`
  writeFileSync(join(folder, 'deskmirror.yaml'), projects)
  try {
    const config = loadConfig('service', folder, { KEY: 'key', ...variables })
    expect(inspect(config, { depth: 9 })).not.toContain('Tr0ub4dor')
    return config.projects.map(({ proxy, baseUrl }) => findProxy(proxy, baseUrl)?.name ?? 'direct')
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    expect(inspect(error)).not.toContain('Tr0ub4dor')
    return error.problems.map(({ where, why }) => `${where}: ${why}`)
  }
}

describe('the setting of a project', () => {
  const variables = { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'example.com' }

  test('wins over all variables, for this project', () => {
    expect(proxiesOf('proxy: "http://own:2"', variables)).toEqual(['own:2', 'direct'])
    expect(proxiesOf('proxy: none', { HTTPS_PROXY: 'http://p:1' })).toEqual(['direct', 'p:1'])
  })

  test('refers to an address with a password', () => {
    const own = { PROXY: `http://ann:${password}@own:2` }
    expect(proxiesOf('proxy: { env: PROXY }', own)).toEqual(['own:2', 'direct'])
  })

  test.for<[string, Record<string, string>, RegExp]>([
    [
      `proxy: "http://ann:${password}@own:2"`,
      {},
      /^deskmirror.yaml:4 projects.shop.proxy: contains a password: keep it in a variable/,
    ],
    [
      'proxy: "socks5://own:2"',
      {},
      /^deskmirror.yaml:4 projects.shop.proxy: must be the address of an HTTP proxy/,
    ],
    [
      'proxy: { env: PROXY }',
      { PROXY: `socks5://ann:${password}@own` },
      /^deskmirror.yaml:4 projects.shop.proxy: must be the address of an HTTP proxy/,
    ],
    [
      'proxy: { env: PROXY }',
      {},
      /^deskmirror.yaml:4 projects.shop.proxy: points to the variable PROXY, which does not exist/,
    ],
    ['proxy: 7', {}, /projects.shop.proxy: is not a reference/],
    [
      '',
      { ALL_PROXY: `socks5h://ann:${password}@own` },
      /^ALL_PROXY: must be the address of an HTTP proxy/,
    ],
    [
      '',
      { HTTPS_PROXY: `http://ann:Tr0ub4dor/3@own:2` },
      /^HTTPS_PROXY: must be the address .*write \/ as %2F/,
    ],
  ])('%s with %j is refused', ([lines, more, problem]) => {
    expect(proxiesOf(lines, more)).toEqual([expect.stringMatching(problem)])
  })

  test('a proxy that no project uses may be anything', () => {
    expect(proxiesOf('', { ALL_PROXY: 'socks5://own', NO_PROXY: '*' })).toEqual([
      'direct',
      'direct',
    ])
  })
})

test('the password is one of the secrets that the log leaves out', () => {
  const variables = { ...needed, HTTPS_PROXY: `ann:${password}@own:2` }
  const secrets = collectSecrets(loadConfig('service', createTempFolder(), variables))
  expect(secrets).toEqual(expect.arrayContaining([password, 'Tr0ub4dor/3']))
})

test('a warning says that HTTP_PROXY alone is not for https', () => {
  const warningsOf = (more: Readonly<Record<string, string>>) =>
    loadConfig('service', createTempFolder(), { ...needed, ...more }).warnings
  expect(warningsOf({ HTTP_PROXY: 'http://p:1' })).toEqual([
    expect.stringMatching(/^HTTP_PROXY is for http:\/\/ addresses: set HTTPS_PROXY/),
  ])
  expect(warningsOf({ http_proxy: 'http://p:1', HTTPS_PROXY: 'http://p:1' })).toEqual([])
  expect(warningsOf({ http_proxy: 'http://p:1', NO_PROXY: 'example.com' })).toEqual([])
})
