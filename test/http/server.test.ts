/** The responses of the worker's HTTP server. Real requests over loopback. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Attempts, createAttempts } from '../../src/http/auth.ts'
import {
  type HttpRoutes,
  type HttpServerOptions,
  maxConnections,
  type ReadinessResult,
} from '../../src/http/server.ts'
import { secret } from '../../src/values/secret.ts'
import { UserError } from '../../src/values/user-error.ts'
import { captureLog, startTestServer, token, tokenOptions } from './test-server.ts'

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

const board: HttpRoutes = {
  prefix: '/queues',
  auth: 'token',
  plugin: async (app) => {
    app.get('/', async () => 'the board')
    app.put('/pause', async () => 'paused')
  },
}
/** Its server is another one, which is made at the first request. */
const lazyBoard = (attempts: Attempts): HttpRoutes => ({
  prefix: '/console',
  auth: 'own',
  load: async () => async (app) => {
    app.get('/', async ({ ip }, reply) =>
      reply.code(attempts.recordWrong(ip, Date.now()) > 0 ? 429 : 401).send(''),
    )
  },
})
const hooks: HttpRoutes = {
  prefix: '/webhooks',
  auth: 'own',
  plugin: async (app) => {
    app.post('/:project', async ({ body }) => ({ got: body }))
  },
}

describe('/healthz says whether the worker is alive', () => {
  test.each([
    [true, 200],
    [false, 503],
  ])('%s: %i', async (alive, status) => {
    const { ask } = await startTestServer({
      health: { isAlive: () => alive, checkReadiness: async () => [] },
    })
    expect(await ask('/healthz')).toMatchObject({ status, text: JSON.stringify({ alive }) })
  })
})

describe('/readyz says whether everything that the worker needs is available', () => {
  const serveReady = (ready: () => Promise<readonly ReadinessResult[]>) => {
    const captured = captureLog()
    return startTestServer({
      health: { isAlive: () => true, checkReadiness: ready },
      log: captured.log,
    }).then((http) => ({
      ...http,
      ...captured,
    }))
  }
  const warehouse = { name: 'warehouse', ok: true, why: null }

  test('everything: 200', async () => {
    const { ask } = await serveReady(async () => [warehouse])
    expect(await ask('/readyz')).toMatchObject({ status: 200, text: '{"ready":true,"missing":[]}' })
  })

  test('not everything: 503 with the names; the reason is only logged', async () => {
    const why = 'connect ECONNREFUSED redis://me:hunter2@10.1.2.3'
    const { ask, lines } = await serveReady(async () => [
      warehouse,
      { name: 'queue', ok: false, why },
    ])
    const { status, text } = await ask('/readyz')
    expect([status, text]).toEqual([503, '{"ready":false,"missing":["queue"]}'])
    expect(lines.join()).toContain('ECONNREFUSED')
  })

  test('a check that fails means not ready, and shows no stack', async () => {
    const { ask } = await serveReady(() => Promise.reject(new Error('a bug at line 7')))
    expect(await ask('/readyz')).toMatchObject({
      status: 503,
      text: '{"ready":false,"missing":["readiness"]}',
    })
  })

  test('projects whose sending is held are counted, and named to who may read the metrics', async () => {
    const health = {
      isAlive: () => true,
      checkReadiness: async () => [warehouse],
      listHeld: async () => ['secret-client', 'shop'],
    }
    const tokens = { ...tokenOptions, metricsToken: secret('for-prometheus') }
    const { ask } = await startTestServer({ ...tokens, health })
    const counted = { ready: true, missing: [], sendingHeld: 2 }
    const named = { ...counted, heldProjects: ['secret-client', 'shop'] }
    const read = async (headers: Record<string, string>) =>
      JSON.parse((await ask('/readyz', { headers })).text)
    expect(await read({})).toEqual(counted)
    expect(await read(bearer('wrong'))).toEqual(counted)
    expect(await read(bearer('for-prometheus'))).toEqual(named)
    expect(await read(bearer(token))).toEqual(named)
    for (let n = 0; n < 6; n += 1) await read(bearer('wrong'))
    expect((await ask('/metrics', { headers: bearer('wrong') })).status).toBe(429)
    // Without any token, whoever can ask is on this machine.
    const open = await startTestServer({ health })
    expect(JSON.parse((await open.ask('/readyz')).text)).toEqual(named)
  })

  test('concurrent requests cause one check', async () => {
    let checks = 0
    const { ask } = await serveReady(async () => {
      checks += 1
      return [warehouse]
    })
    await Promise.all(Array.from({ length: 10 }, () => ask('/readyz')))
    expect(checks).toBe(1)
  })
})

describe('with a token', () => {
  const startGuarded = () => startTestServer({ ...tokenOptions, plugins: [board, hooks] })

  test.each(['/metrics', '/queues/'])('%s requires it', async (path) => {
    const { ask } = await startGuarded()
    const { status, headers, text } = await ask(path)
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toMatch(
      /Bearer realm="deskmirror".*Basic realm="deskmirror"/,
    )
    expect(JSON.parse(text)).toEqual({ error: expect.stringContaining('DESKMIRROR_HTTP_TOKEN') })
    expect(await ask(path, { headers: bearer(token) })).toMatchObject({ status: 200 })
    expect(await ask(path, { headers: basic(`:${token}`) })).toMatchObject({ status: 200 })
    expect(await ask(path, { headers: basic(`anyone:${token}`) })).toMatchObject({ status: 200 })
  })

  test.each([
    bearer('another'),
    bearer(`${token}x`),
    bearer(token.slice(0, -1)),
    bearer(''),
    basic(`${token}:`),
    basic('me:another'),
    { authorization: token },
    { authorization: `Digest ${token}` },
    { authorization: 'Basic' },
  ])('%o is refused', async (headers) => {
    const { ask } = await startGuarded()
    expect((await ask('/metrics', { headers })).status).toBe(401)
    expect((await ask('/queues/', { headers })).status).toBe(401)
  })

  test('one of its own opens the metrics and nothing else', async () => {
    const metricsToken = secret('for-prometheus')
    const { ask } = await startTestServer({
      ...tokenOptions,
      metricsToken,
      plugins: [board, hooks],
    })
    const headers = bearer('for-prometheus')
    expect((await ask('/metrics', { headers })).status).toBe(200)
    expect((await ask('/metrics', { headers: bearer(token) })).status).toBe(200)
    expect((await ask('/queues/', { headers })).status).toBe(401)
    const open = await startTestServer({ metricsToken })
    expect([
      (await open.ask('/metrics')).status,
      (await open.ask('/metrics', { headers })).status,
    ]).toEqual([401, 200])
  })

  test.each(['/metrics', '/queues/'])(
    'who sends wrong ones to %s waits, wherever they send the next',
    async (path) => {
      const attempts = createAttempts()
      const { ask } = await startTestServer({ ...tokenOptions, attempts, plugins: [board] })
      const statuses = []
      for (let tries = 0; tries < 8; tries += 1)
        statuses.push((await ask(path, { headers: bearer('wrong') })).status)
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
      for (const other of ['/metrics', '/queues/']) {
        const { status, headers } = await ask(other, { headers: bearer('wrong') })
        expect([status, Number(headers['retry-after'])]).toEqual([429, 30])
        // Behind a proxy it may be someone else.
        expect((await ask(other, { headers: bearer(token) })).status).toBe(200)
      }
      expect(attempts.recordWrong('127.0.0.1', Date.now())).toBeGreaterThan(0)
      expect((await ask('/healthz')).status).toBe(200)
    },
  )

  test.each([
    [[], [401, 401, 401, 401, 401, 429, 429]],
    [['10.0.0.0/8'], [401, 401, 401, 401, 401, 429, 429]],
    [['127.0.0.1'], [401, 401, 401, 401, 401, 401, 401]],
  ])(
    'with the trusted proxies %j, wrong ones of others that a proxy names: %j',
    async (trustedProxies, expected) => {
      const attempts = createAttempts()
      const plugins = [lazyBoard(attempts)]
      const { ask } = await startTestServer({ ...tokenOptions, attempts, trustedProxies, plugins })
      const statuses = []
      for (let n = 0; n < expected.length; n += 1) {
        const headers = { ...bearer('wrong'), 'x-forwarded-for': `192.0.2.1, 198.51.100.${n}` }
        statuses.push((await ask(n % 2 === 0 ? '/metrics' : '/console', { headers })).status)
      }
      expect(statuses).toEqual(expected)
    },
  )

  test.each([
    ['an address of its port', (n: number) => `192.0.2.1:${4000 + n}`],
    ['an IPv6 address in brackets', (n: number) => `[2001:db8::${n}]:${4000 + n}`],
    [
      'an address written in both ways',
      (n: number) => ['192.0.2.1', '::ffff:192.0.2.1', '[::ffff:192.0.2.1]:1'][n % 3],
    ],
    ['what is no address', (n: number) => `unknown${n}`],
  ])('a proxy that names %s does not make others of the same', (_, named) => {
    const { recordWrong } = createAttempts()
    const waits = [0, 1, 2, 3, 4, 5].map((n) => recordWrong(named(n) ?? '', 1000))
    expect(waits).toEqual([0, 0, 0, 0, 0, 30_000])
  })

  test('none at all is no attempt', async () => {
    const { ask } = await startGuarded()
    for (let tries = 0; tries < 8; tries += 1) expect((await ask('/queues/')).status).toBe(401)
  })

  test('health and readiness need none', async () => {
    const { ask } = await startGuarded()
    expect([(await ask('/healthz')).status, (await ask('/readyz')).status]).toEqual([200, 200])
  })

  test('a wrong one is logged without its value', async () => {
    const { log, lines } = captureLog()
    const { ask } = await startTestServer({ ...tokenOptions, log })
    await ask('/metrics?token=in-the-query', { headers: bearer('wrong-token') })
    expect(lines.at(-1)).toMatch(/"event":"http\.denied","route":"\/metrics"/)
    expect(lines.join()).not.toMatch(/wrong-token|in-the-query/)
  })

  test.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ])("a page of another site cannot use a browser's password: %o", async (headers) => {
    const { ask } = await startGuarded()
    const sent = { method: 'PUT', headers: { ...basic(`me:${token}`), ...headers } }
    expect(await ask('/queues/pause', sent)).toMatchObject({ status: 403 })
  })

  test('the board itself can use it', async () => {
    const { ask, address } = await startGuarded()
    const from = (headers: Record<string, string>) =>
      ask('/queues/pause', { method: 'PUT', headers: { ...basic(`me:${token}`), ...headers } })
    expect(await from({ 'sec-fetch-site': 'same-origin' })).toMatchObject({ status: 200 })
    expect(await from({ origin: address })).toMatchObject({ status: 200 })
    expect(await from({})).toMatchObject({ status: 200 })
  })
})

describe('without a token', () => {
  test('the metrics are open, and the board is off', async () => {
    const { ask } = await startTestServer({ plugins: [board] })
    expect(await ask('/metrics')).toMatchObject({ status: 200, text: 'measured 1\n' })
    const { status, text } = await ask('/queues/', { headers: bearer('x') })
    expect(status).toBe(403)
    expect(JSON.parse(text).error).toMatch(
      /DESKMIRROR_HTTP_TOKEN \(http_token in deskmirror\.yaml\) turns it on/,
    )
  })

  test.each(['127.0.0.1:8484', 'localhost', '[::1]:80', '127.0.0.1'])(
    'requests for the host %s are answered',
    async (host) => {
      const { ask } = await startTestServer()
      expect((await ask('/healthz', { headers: { host } })).status).toBe(200)
    },
  )

  test.each(['evil.example', 'localhost.evil.example:8484', '10.0.0.1', '127.0.0.1.nip.io', 'a b'])(
    'requests for the host %s may come from a DNS rebinding page',
    async (host) => {
      const { ask } = await startTestServer({ plugins: [board] })
      for (const path of ['/healthz', '/readyz', '/metrics', '/queues/']) {
        expect((await ask(path, { headers: { host } })).status).toBe(403)
      }
    },
  )

  test('with a token any host name is accepted', async () => {
    const { ask } = await startTestServer(tokenOptions)
    const headers = { ...bearer(token), host: 'mirror.internal' }
    expect((await ask('/metrics', { headers })).status).toBe(200)
  })
})

describe('routes that authenticate requests themselves', () => {
  test.each([{}, tokenOptions])('need no token, and accept any host name', async (over) => {
    const { ask } = await startTestServer({ ...over, plugins: [board, hooks] })
    const headers = { host: 'mirror.example.com', 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: '{"a":1}' }
    expect(await ask('/webhooks/shop', sent)).toMatchObject({
      status: 200,
      text: '{"got":{"a":1}}',
    })
  })

  test('accept 64 KiB at most', async () => {
    const { ask } = await startTestServer({ plugins: [hooks] })
    const sent = (bytes: number) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify('x'.repeat(bytes - 2)),
    })
    expect((await ask('/webhooks/shop', sent(65_536))).status).toBe(200)
    const { status, text } = await ask('/webhooks/shop', sent(65_537))
    expect([status, Object.keys(JSON.parse(text))]).toEqual([413, ['error']])
  })

  test('do not show the reason of a failure', async () => {
    const { log, lines } = captureLog()
    const fail = () => Promise.reject(new Error('the warehouse is at 10.1.2.3'))
    const broken: HttpRoutes = {
      prefix: '/x',
      auth: 'own',
      plugin: async (app) => void app.get('/', fail),
    }
    const { ask } = await startTestServer({ plugins: [broken], log })
    expect(await ask('/x/')).toMatchObject({
      status: 500,
      text: '{"error":"internal error; see the log"}',
    })
    expect(lines.at(-1)).toContain('the warehouse is at 10.1.2.3')
  })
})

test('an unknown path is 404, as JSON, with nothing about the server', async () => {
  const { ask } = await startTestServer({ plugins: [board] })
  const { status, text, headers } = await ask('/etc/passwd')
  expect([status, text]).toEqual([404, '{"error":"nothing is here"}'])
  expect(headers).not.toHaveProperty('x-powered-by')
  expect(headers).not.toHaveProperty('server')
  expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
  expect((await ask('/healthz', { method: 'POST' })).status).toBe(404)
  expect((await ask('/%')).status).toBe(400)
})

test('a port in use is named, with the setting that changes it', async () => {
  const { address } = await startTestServer()
  const port = Number(new URL(address).port)
  const error = await startTestServer({ port }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(UserError)
  expect(error).toMatchObject({
    what: `cannot listen at 127.0.0.1:${port}`,
    next: expect.stringContaining('DESKMIRROR_HTTP'),
    exitCode: 2,
  })
})

test('an address that this machine does not have is named as well', async () => {
  await expect(startTestServer({ host: '192.0.2.1' })).rejects.toMatchObject({
    exitCode: 2,
    why: 'this machine does not have this address',
  })
})

describe('clients that send little keep nobody out', () => {
  const start = (over: Partial<HttpServerOptions> = {}) =>
    startTestServer({ plugins: [board, hooks], ...over })
  const open = async (address: string, sent: string) => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.on('error', () => {}).write(sent)
    return socket
  }
  const head =
    'POST /webhooks/shop HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: '
  const openAll = (address: string, sent: string) =>
    Promise.all(Array.from({ length: maxConnections }, () => open(address, sent)))

  test.each([
    ['no byte', ''],
    ['part of a head', head],
    ['a byte of a body', `${head}10\r\n\r\n{`],
    ['one request', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ])('%s on as many connections as there may be', async (_, sent) => {
    const { address, ask } = await start()
    await openAll(address, sent)
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect(await ask(path, { headers: { connection: 'close' } })).toMatchObject({ status: 200 })
  })

  test('requests whose answers take long leave room for liveness', async () => {
    const answer = Promise.withResolvers<string>()
    let asked = 0
    const all = Promise.withResolvers<void>()
    const text = () => {
      asked += 1
      if (asked === maxConnections) all.resolve()
      return answer.promise
    }
    const { address, ask } = await start({ metrics: { contentType: 'text/plain', text } })
    await openAll(address, 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await all.promise
    expect([(await ask('/readyz')).status, (await ask('/healthz')).status]).toEqual([503, 200])
    answer.resolve('')
  })

  test.each([
    ['head', head],
    ['body', `${head}10\r\n\r\n{`],
  ])('a %s that does not come on ends the connection', async (_, sent) => {
    const { address } = await start({ clientTimeoutMs: 100 })
    await once((await open(address, sent)).resume(), 'close')
  })

  test('a body that comes on may take longer', async () => {
    let bytes = 0
    const upload: HttpRoutes = {
      prefix: '/upload',
      auth: 'own',
      plugin: async (app) => {
        app.addContentTypeParser('*', (_, body, done) => {
          body.on('data', (part: Buffer) => (bytes += part.length)).on('end', () => done(null))
        })
        app.post('/', { bodyLimit: 1e8 }, async () => ({ bytes }))
      },
    }
    const { address } = await start({ plugins: [upload], clientTimeoutMs: 500 })
    const parts = Array.from({ length: 100 }, () => Buffer.alloc(64 * 1024))
    const socket = await open(
      address,
      `POST /upload/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${100 * 65_536}\r\n\r\n`,
    )
    const answered = once(socket, 'data')
    for (const part of parts) {
      socket.write(part)
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
    expect(String((await answered)[0])).toContain(`{"bytes":${100 * 65_536}}`)
  })
})

test('it closes although a client keeps a connection open', async () => {
  const { address, close } = await startTestServer()
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  const answered = new Promise((resolve) => socket.once('data', resolve))
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await answered
  const ended = new Promise((resolve) => socket.once('close', resolve))
  await close()
  await ended
})

test('it closes although a response never comes', async () => {
  const requested = Promise.withResolvers<void>()
  const text = () => {
    requested.resolve()
    return new Promise<string>(() => {})
  }
  const { ask, close } = await startTestServer({ metrics: { contentType: 'text/plain', text } })
  const cut = expect(ask('/metrics')).rejects.toThrow()
  await requested.promise
  await close()
  await cut
})
