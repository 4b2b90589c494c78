/**
 * How the client classifies failures: every odd answer is one member of the failure union; nothing
 * else is thrown.
 */
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  answersInOrder,
  createTestClient,
  emptyListAnswer,
  errorOf,
  failureOf,
  jsonAnswer,
  memoryBudget,
  quickRetries,
  type RequestHandler,
  readCall,
  startTestService,
  writeCall,
} from './test-service.ts'

async function failureFrom(answer: RequestHandler) {
  const service = await startTestService(answer)
  return failureOf(createTestClient(service.url).send(readCall))
}

const requestId = 'req-9'
const error = (code: string, message: string, more: object = {}) => ({
  error: { code, message, ...more },
  requestId,
})
const maybeSent = { kind: 'transient', mayHaveBeenSent: true }
const notSent = { kind: 'transient', mayHaveBeenSent: false }

describe('throttled', () => {
  const body = error('rate_limited', 'Too many requests')
  const date = 'Wed, 18 Nov 2026 10:00:00 GMT'
  test.for<[string, Record<string, string>, number]>([
    ['no Retry-After pauses for a whole window', {}, 60_000],
    ['Retry-After in seconds', { 'retry-after': '7' }, 7000],
    [
      "Retry-After as a date, by the service's clock",
      { 'retry-after': 'Wed, 18 Nov 2026 10:00:30 GMT', date },
      30_000,
    ],
    [
      'a date in the past pauses for a second',
      { 'retry-after': 'Wed, 18 Nov 2026 09:00:00 GMT', date },
      1000,
    ],
    ['Retry-After: 0 pauses for a second', { 'retry-after': '0' }, 1000],
    ['Retry-After: a year pauses for an hour', { 'retry-after': '31536000' }, 3_600_000],
    ['an unreadable Retry-After pauses for a whole window', { 'retry-after': 'soon' }, 60_000],
    ['a negative Retry-After pauses for a whole window', { 'retry-after': '-5' }, 60_000],
  ])('a 429 with %s', async ([, headers, waitMs]) => {
    const failure = await failureFrom(jsonAnswer(429, body, headers))
    expect(failure).toMatchObject({ kind: 'throttled', waitMs, requestId })
  })

  test('a 429 in HTML is throttled as well', async () => {
    const failure = await failureFrom(jsonAnswer(429, '<h1>slow down</h1>'))
    expect(failure).toMatchObject({ kind: 'throttled', waitMs: 60_000 })
  })
})

describe('denied', () => {
  test.for([
    'API key lacks scope visitors:read',
    'Missing required scope "visitors:read".',
    'scope:visitors:read is required',
    'This key may not do that (needs: visitors:read)',
  ])('a missing scope is named, whatever the wording: %s', async (message) => {
    const failure = await failureFrom(
      jsonAnswer(403, error('api_key_scope_missing', message, { status: 403 })),
    )
    expect(failure).toMatchObject({
      kind: 'denied',
      code: 'api_key_scope_missing',
      scope: 'visitors:read',
    })
  })

  test.for([
    [401, 'api_key_missing'],
    [401, 'api_key_invalid'],
    [403, 'api_key_wrong_project'],
  ] as const)('%d %s names no scope', async ([status, code]) => {
    const failure = await failureFrom(
      jsonAnswer(status, error(code, 'The key may not see project a:b')),
    )
    expect(failure).toMatchObject({ kind: 'denied', status, code, scope: null, requestId })
  })

  test('a 403 without an envelope is denied too', async () => {
    const failure = await failureFrom(jsonAnswer(403, 'Forbidden'))
    expect(failure).toMatchObject({ kind: 'denied', code: 'http_403', scope: null })
  })
})

describe('refused', () => {
  test.for<[string, unknown, string[]]>([
    ['names', ['since', 'limit'], ['since', 'limit']],
    ['sentences', ['"content" is required', 'limit: too large'], ['content', 'limit']],
    ['{path}', [{ path: 'content', message: 'Required' }], ['content']],
    [
      '{path} as a list',
      [{ path: ['body', 'content'] }, { path: ['email'] }],
      ['content', 'email'],
    ],
    ['{path} as a dotted path', [{ path: 'query.since' }], ['since']],
    ['{field}', [{ field: 'note' }], ['note']],
    ['{param}', [{ param: 'before' }], ['before']],
    ['{instancePath}', [{ instancePath: '/email', params: {} }], ['email']],
    ['a missing property', [{ instancePath: '', params: { missingProperty: 'text' } }], ['text']],
    ['unknown keys', [{ code: 'unrecognized_keys', keys: ['before'], path: [] }], ['before']],
    ['a map by field', { senderName: ['required'] }, ['senderName']],
    ['one name', 'since', ['since']],
    ['nonsense', [null, 7, {}, [], { path: {} }], []],
    ['nothing', undefined, []],
  ])(
    'a validation error names its fields, whatever an issue looks like: %s',
    async ([, issues, fields]) => {
      const body = error('VALIDATION_ERROR', 'Bad request', { context: { issues } })
      const failure = await failureFrom(jsonAnswer(400, body))
      expect(failure).toMatchObject({
        kind: 'refused',
        status: 400,
        code: 'VALIDATION_ERROR',
        fields,
      })
    },
  )

  test('issues beside the error, not in it, are found', async () => {
    const body = { ...error('VALIDATION_ERROR', 'Bad request'), context: { issues: ['since'] } }
    expect(await failureFrom(jsonAnswer(400, body))).toMatchObject({ fields: ['since'] })
  })

  test('a 404 has code, message and request id', async () => {
    const failure = await failureFrom(jsonAnswer(404, error('NOT_FOUND', 'No such row')))
    expect(failure).toMatchObject({ kind: 'refused', status: 404, code: 'NOT_FOUND', requestId })
    expect(failure).toHaveProperty('why', 'GET /thing: 404 NOT_FOUND: No such row')
  })

  test('a redirect is not followed, and the failure names its target', async () => {
    const target = await startTestService(jsonAnswer(200, { data: {} }))
    const redirecting = await startTestService(
      jsonAnswer(302, '', { location: `${target.url}/elsewhere?token=x` }),
    )
    const failure = await failureOf(createTestClient(redirecting.url).send(readCall))
    expect(failure).toMatchObject({ kind: 'refused', status: 302 })
    expect(failure).toHaveProperty(
      'why',
      expect.stringContaining(`${target.url}/elsewhere; is the base URL right?`),
    )
    expect(target.requestCount()).toBe(0)
  })
})

describe('a web page under a 200', () => {
  const page = jsonAnswer(200, '<!doctype html><title>Sign in</title>')

  test('is refused at an address that never answered as the service, and is asked for once', async () => {
    const service = await startTestService(page)
    const client = createTestClient(service.url, { isNewAddress: true, retries: quickRetries })
    expect(await failureOf(client.get('/thing', {}, 'fresh'))).toMatchObject({
      kind: 'refused',
      status: 200,
    })
    expect(service.requestCount()).toBe(1)
  })

  test('is transient at one that did, and for a write', async () => {
    const service = await startTestService(answersInOrder(emptyListAnswer, page))
    const client = createTestClient(service.url, { isNewAddress: true })
    await client.send(readCall)
    expect(await failureOf(client.send(readCall))).toMatchObject({ kind: 'transient', status: 200 })
    const other = createTestClient((await startTestService(page)).url, { isNewAddress: true })
    expect(await failureOf(other.send(writeCall))).toMatchObject({ kind: 'transient', status: 200 })
  })
})

describe('transient', () => {
  const unreadable: Record<string, RequestHandler> = {
    'a page of HTML': jsonAnswer(200, '<html></html>'),
    'half a JSON document': jsonAnswer(200, '{"data":{"items":['),
    'an empty body': jsonAnswer(200, ''),
    'a list': jsonAnswer(200, []),
    'JSON null': jsonAnswer(200, 'null'),
    'no data': jsonAnswer(200, { requestId }),
    'data that is null': jsonAnswer(200, { data: null }),
    'an error under a success status': jsonAnswer(200, { error: { code: 'oops' } }),
    'bytes that are not UTF-8': (_request, response) =>
      response.end(Buffer.from('7b2264617461223a22ff227d', 'hex')),
    'an unknown encoding': jsonAnswer(200, { data: {} }, { 'content-encoding': 'zstd-9' }),
    'gzip that is not gzip': jsonAnswer(200, { data: {} }, { 'content-encoding': 'gzip' }),
    'nesting without end': jsonAnswer(200, `{"data":${'['.repeat(200_000)}`),
    'less than its length': (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"data":')
      setImmediate(() => response.destroy())
    },
  }
  test.for(Object.entries(unreadable))('a 200 with %s', async ([, answer]) => {
    expect(await failureFrom(answer)).toMatchObject({ ...maybeSent, status: 200 })
  })

  test.for([500, 502, 503, 504, 520, 599, 408, 425])('a %d', async (status) => {
    expect(await failureFrom(jsonAnswer(status, 'oops'))).toMatchObject({ ...maybeSent, status })
  })

  test('a 503 with Retry-After keeps its time', async () => {
    const failure = await failureFrom(jsonAnswer(503, '', { 'retry-after': '5' }))
    expect(failure).toMatchObject({ kind: 'transient', waitMs: 5000 })
  })

  test('a connection that breaks may have delivered the request', async () => {
    const failure = await failureFrom((request) => void request.socket.destroy())
    expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: true, status: null })
  })

  test('a response that is not HTTP may follow a request that was done', async () => {
    const url = await startTcp((socket) =>
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')),
    )
    expect(await failureOf(createTestClient(url).send(writeCall))).toMatchObject(maybeSent)
  })

  test('a response that takes too long is aborted', async () => {
    const service = await startTestService(() => {})
    const failure = await failureOf(createTestClient(service.url, { timeoutMs: 50 }).send(readCall))
    expect(failure).toMatchObject({
      ...maybeSent,
      why: 'GET /thing: no complete response within 50 ms',
    })
  })

  test('the time limit includes a slow body', async () => {
    const service = await startTestService((_request, response) => void response.write('{'))
    const failure = await failureOf(
      createTestClient(service.url, { timeoutMs: 100 }).send(readCall),
    )
    expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: true, status: 200 })
  })

  describe('no byte of the request was sent', () => {
    test('no server listens', async () => {
      const url = await closedPort()
      expect(await failureOf(createTestClient(url).send(writeCall))).toMatchObject(notSent)
    })

    test('the host name is unknown', async () => {
      const failure = await failureOf(
        createTestClient(new URL('https://nowhere.invalid')).send(writeCall),
      )
      expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: false, status: null })
    })

    test('the server does not speak TLS', async () => {
      const service = await startTestService(jsonAnswer(200, { data: {} }))
      const url = new URL(service.url.href.replace('http:', 'https:'))
      expect(await failureOf(createTestClient(url).send(writeCall))).toMatchObject(notSent)
    })

    test('the slot is released at once', async () => {
      const url = await closedPort()
      const budget = memoryBudget()
      const client = createTestClient(url, { budget })
      await failureOf(client.send(writeCall))
      expect(await budget.view()).toMatchObject({ inUse: 0 })
      expect(client.requestCount()).toBe(0)
    })
  })
})

test('an error envelope may be of any shape: nothing but ApiError is thrown', async () => {
  const oddFields = [
    { code: {}, message: [], context: 7 },
    { code: 5, context: { issues: { a: 1 } } },
  ]
  const odd = [null, 1, 'text', [], [[]], {}, ...oddFields]
  for (const status of [301, 400, 401, 403, 404, 409, 418, 429, 500]) {
    for (const value of odd) {
      const service = await startTestService(jsonAnswer(status, { error: value, requestId: value }))
      expect((await errorOf(createTestClient(service.url).send(readCall))).message).toContain(
        String(status),
      )
    }
  }
})

test('a message of the service becomes one short line', async () => {
  const message = `red \u001b[31m alert\r\n${'x'.repeat(10_000)}`
  const { failure, message: line } = await errorOf(
    createTestClient(
      (await startTestService(jsonAnswer(400, error('odd\ncode', message)))).url,
    ).send(readCall),
  )
  expect(failure.kind).toBe('refused')
  expect(line).not.toMatch(/\p{Cc}/u)
  expect(line.length).toBeLessThan(500)
})

async function startTcp(onSocket: (socket: Socket) => void): Promise<URL> {
  const server = createTcpServer((socket) => onSocket(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

/** A port that was free just now, so no server answers. */
async function closedPort(): Promise<URL> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  await new Promise((resolve) => connect(port, '127.0.0.1').on('error', resolve))
  return new URL(`http://127.0.0.1:${port}`)
}
