/**
 * The service behind an HTTP proxy: each failure of the proxy has a sentence of its own, and proves
 * that the request never left; a write leaves at most once, wherever a tunnel is cut.
 */
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { inspect } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { fatalRunError } from '../../src/app/service.ts'
import { defaultProject } from '../../src/config/config.ts'
import { proxyOfVariables } from '../../src/config/proxy.ts'
import { secret } from '../../src/values/secret.ts'
import {
  type ProxyOptions,
  startHttpProxy,
  startTlsFront,
  type TunnelCut,
} from '../support/http-proxy.ts'
import { freePort } from '../support/private-server.ts'
import { issueCertificate, type KeyPair } from '../support/tls.ts'
import {
  createTestClient,
  emptyListAnswer,
  errorOf,
  type RequestHandler,
  readCall,
  startTestService,
  testKey,
  writeCall,
} from './test-service.ts'

const host = 'api.example.com'
const user = 'ann:Tr0ub4dor/3'
const url = new URL(`https://${host}/v1`)

let ofService: KeyPair
let ofCompany: KeyPair
beforeEach(() => {
  ofService ??= issueCertificate(host)
  ofCompany ??= issueCertificate(host)
})

/** As NODE_EXTRA_CA_CERTS does it when a process starts. */
function trust({ cert }: KeyPair): void {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, cert])
  onTestFinished(() => setDefaultCACertificates(before))
}

type World = Omit<Partial<ProxyOptions>, 'port'> & {
  readonly answer?: ProxyOptions['answer']
  readonly respond?: RequestHandler
  /** What the proxy puts in place of the service's. */
  readonly certificate?: KeyPair
  /** In the address of the proxy. */
  readonly credentials?: string
  readonly isServiceTls?: boolean
}

/** The service, a proxy that leads to it, and a client that knows the address of the proxy. */
async function start({ respond = emptyListAnswer, certificate = ofService, ...world }: World) {
  const { credentials = 'ann:Tr0ub4dor%2F3@', isServiceTls = true, ...options } = world
  const service = await startTestService(respond)
  const plain = Number(service.url.port)
  const port = isServiceTls ? await startTlsFront(plain, certificate) : plain
  const proxy = await startHttpProxy({ user, ...options, port })
  const scheme = options.tls === undefined ? 'http' : 'https'
  const address = `${scheme}://${credentials}${options.tls === undefined ? '127.0.0.1' : 'localhost'}:${proxy.port}`
  const client = createTestClient(url, { proxy: proxyOfVariables({ HTTPS_PROXY: address }) })
  return { service, proxy, client, name: new URL(address).host }
}

const project = defaultProject({
  name: 'shop',
  projectId: 'p',
  baseUrl: url,
  apiKey: secret(testKey),
})

/** What a person reads about a failed request: why, and what next. No part of it is a secret. */
async function explain(call: Promise<unknown>) {
  const error = await errorOf(call)
  const { why, next, exitCode } = fatalRunError(project, error.failure)
  const shown = inspect(error, { depth: 9, showHidden: true })
  for (const text of [`${shown}${why}${next}`])
    for (const part of ['Tr0ub4dor', Buffer.from(user).toString('base64'), testKey])
      expect(text).not.toContain(part)
  return { why: why.replace(/^\w+ \/thing: /, ''), next, exitCode, failure: error.failure }
}

const neverLeft = { kind: 'transient', mayHaveBeenSent: false }

test('requests go through the proxy, with its user and password, in tunnels of their own or shared', async () => {
  trust(ofService)
  const { client, proxy, service } = await start({})
  for (let n = 0; n < 6; n++) await client.get('/thing', {}, 'fresh')
  const ofReads = proxy.targets.length
  expect(ofReads).toBeLessThanOrEqual(2)
  await client.send(writeCall)
  await client.send(writeCall)
  expect(proxy.targets).toEqual(Array.from({ length: ofReads + 2 }, () => `${host}:443`))
  expect(proxy.others()).toBe(0)
  expect(service.requestCount()).toBe(8)
  // What is for the proxy does not reach the service.
  expect(service.lastRequest().headers).not.toHaveProperty('proxy-authorization')
  expect(service.lastRequest().headers).toMatchObject({ host })
})

test('a proxy that speaks TLS', async () => {
  const own = issueCertificate('localhost')
  trust(ofService)
  trust(own)
  const { client, proxy } = await start({ tls: own })
  await client.get('/thing', {}, 'fresh')
  await client.send(writeCall)
  expect(proxy.targets).toHaveLength(2)
})

test('a service on this machine is reached directly', async () => {
  const service = await startTestService(emptyListAnswer)
  const proxy = proxyOfVariables({
    HTTPS_PROXY: 'http://proxy.invalid:1',
    HTTP_PROXY: 'http://proxy.invalid:1',
    ALL_PROXY: 'http://proxy.invalid:1',
  })
  const client = createTestClient(service.url, { proxy })
  await client.get('/thing', {}, 'fresh')
  await client.send(writeCall)
  expect(service.requestCount()).toBe(2)
})

describe('a proxy that does not connect: what happened, what next, and nothing has left', () => {
  type Case = readonly [name: string, world: World, why: RegExp, next: RegExp, exit: 1 | 2]
  const withStatus = (status: number, headers = {}) => ({ answer: { status, headers } })
  const cases: readonly Case[] = [
    [
      'it wants a password',
      { credentials: '' },
      /^the proxy \S+ wants a user and a password \(407\)$/,
      /^correct HTTPS_PROXY .*http:\/\/USER:PASSWORD@127.0.0.1:\d+; /,
      2,
    ],
    [
      'it refuses the password',
      { credentials: 'ann:Tr0ub4dor@' },
      /^the proxy \S+ refuses the user or the password \(407\)$/,
      /^correct HTTPS_PROXY/,
      2,
    ],
    [
      'it takes no password',
      withStatus(407, { 'proxy-authenticate': 'NTLM, Negotiate' }),
      /accepts no password, only NTLM \(407\)$/,
      /cntlm/,
      2,
    ],
    [
      'it forbids the host',
      withStatus(403),
      /^the proxy \S+ does not allow connections to api.example.com \(403\)$/,
      /^ask whoever runs it to allow api.example.com, or name that in NO_PROXY/,
      2,
    ],
    [
      'it knows no CONNECT',
      withStatus(405),
      /does not allow connections to api.example.com \(405\)$/,
      /NO_PROXY/,
      2,
    ],
    [
      'it redirects',
      withStatus(302, { location: `http://x/?${user}` }),
      /answers 302 instead of connecting to api.example.com$/,
      /DESKMIRROR_BASE_URL/,
      1,
    ],
    [
      'it cannot reach the host',
      withStatus(502),
      /answers 502 instead of connecting to api.example.com$/,
      /DESKMIRROR_BASE_URL/,
      1,
    ],
    [
      'it is busy',
      withStatus(503),
      /answers 503 instead of connecting/,
      /trying again may help/,
      1,
    ],
    [
      'it closes the connection',
      { cutOf: () => ({ at: 'request' }) },
      /cannot be used: the connection was closed without a response \(/,
      /^start the proxy, or correct HTTPS_PROXY/,
      1,
    ],
    [
      'it closes the tunnel',
      { cutOf: () => ({ at: 'answer' }) },
      /^through the proxy \S+, there is no encrypted connection to api.example.com: the connection was closed/,
      /whoever runs the proxy/,
      1,
    ],
    [
      'what it leads to speaks no TLS',
      { isServiceTls: false },
      /^through the proxy \S+, there is no encrypted connection to api.example.com: the server does not speak HTTPS correctly/,
      /whoever runs the proxy/,
      1,
    ],
  ]

  test.for(cases)('%s', async ([, world, why, next, exitCode]) => {
    trust(ofService)
    const { client, service } = await start(world)
    for (const call of [writeCall, readCall]) {
      const error = await explain(client.send(call))
      expect(error.failure).toMatchObject(neverLeft)
      expect(error).toMatchObject({
        why: expect.stringMatching(why),
        next: expect.stringMatching(next),
        exitCode,
      })
    }
    expect(service.requestCount()).toBe(0)
  })

  test('nothing listens there', async () => {
    const port = await freePort()
    const proxy = proxyOfVariables({
      HTTPS_PROXY: `http://${user.replace('/', '%2F')}@127.0.0.1:${port}`,
    })
    const error = await explain(createTestClient(url, { proxy }).send(writeCall))
    expect(error.why).toBe(
      `the proxy 127.0.0.1:${port} cannot be used: nothing listens at that address (connect ECONNREFUSED 127.0.0.1:${port})`,
    )
    expect(error).toMatchObject({ failure: neverLeft, exitCode: 1 })
  })

  test('its own certificate is not trusted', async () => {
    const { client } = await start({ tls: issueCertificate('localhost') })
    const error = await explain(client.send(writeCall))
    expect(error.why).toMatch(
      /^the proxy localhost:\d+ cannot be used: its certificate is not signed by an authority/,
    )
    expect(error).toMatchObject({
      failure: neverLeft,
      exitCode: 2,
      next: expect.stringMatching(/NODE_EXTRA_CA_CERTS/),
    })
  })

  test('it reads what passes, with a certificate of the company, until that is trusted', async () => {
    trust(ofService)
    const { client, service } = await start({ certificate: ofCompany })
    const error = await explain(client.send(writeCall))
    expect(error.why).toMatch(
      /^through the proxy \S+, api.example.com has a certificate of an authority that this machine does not trust: the proxy may have put its own in its place \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
    )
    expect(error).toMatchObject({
      failure: neverLeft,
      exitCode: 2,
      next: expect.stringMatching(/^set NODE_EXTRA_CA_CERTS/),
    })
    expect(service.requestCount()).toBe(0)
    trust(ofCompany)
    await client.send(writeCall)
    expect(service.requestCount()).toBe(1)
  })

  test('a wrong password is not tried again, as that may lock the user out', async () => {
    const { client, proxy } = await start({ credentials: 'ann:wrong@' })
    await errorOf(client.get('/thing', {}, 'fresh'))
    expect(proxy.targets).toHaveLength(1)
  })

  test('a read is tried again through a proxy that fails now and then', async () => {
    trust(ofService)
    const cuts: readonly (TunnelCut | null)[] = [{ at: 'request' }, { at: 'answer' }, null]
    const { client, proxy } = await start({ cutOf: (n) => cuts[n] ?? null })
    await client.get('/thing', {}, 'fresh')
    expect(proxy.targets).toHaveLength(3)
  })
})

describe('a write leaves at most once, and "never left" is only said if it never arrived', () => {
  const pieces = [0, 1, 2, 3].flatMap((n) =>
    (['client', 'server'] as const).flatMap((from) =>
      [true, false].map((isPassedOn): TunnelCut => ({ at: 'piece', from, n, isPassedOn })),
    ),
  )
  const cuts: readonly TunnelCut[] = [{ at: 'request' }, { at: 'answer' }, ...pieces]

  test.for(cuts.map((cut) => [JSON.stringify(cut), cut] as const))('cut: %s', async ([, cut]) => {
    trust(ofService)
    const { client, service, proxy } = await start({ cutOf: () => cut })
    const result = await client
      .send(writeCall)
      .catch((error: unknown) => errorOf(Promise.reject(error)))
    expect(proxy.targets).toHaveLength(1)
    expect(service.requestCount()).toBeLessThanOrEqual(1)
    // With the first piece of the server, the client can write.
    const isBeforeTls =
      cut.at !== 'piece' || (cut.n === 0 && (cut.from === 'client' || !cut.isPassedOn))
    if (isBeforeTls) expect(result).toMatchObject({ failure: neverLeft })
    if (
      'failure' in result &&
      result.failure.kind === 'transient' &&
      !result.failure.mayHaveBeenSent
    )
      expect(service.requestCount()).toBe(0)
    if (!('failure' in result)) expect(service.requestCount()).toBe(1)
  })
})
