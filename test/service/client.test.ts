/** What the client sends, and which answers it reads. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { ApiRequest } from '../../src/service/core/api-request.ts'
import {
  createTestClient,
  emptyListAnswer,
  failureOf,
  jsonAnswer,
  memoryBudget,
  type RequestHandler,
  readCall,
  startTestService,
  unlimitedPolicy,
  writeCall,
} from './test-service.ts'

test('a request carries the key, asks for gzip, and goes below the path of the base URL', async () => {
  const service = await startTestService(emptyListAnswer)
  const client = createTestClient(service.url)
  const query = { since: '2026-01-01T00:00:00Z', handled: false, limit: 200, to: undefined }
  await client.get('/public/things', query, 'fresh')
  const { method, url, headers } = service.lastRequest()
  expect(method).toBe('GET')
  expect(url).toBe('/v1/public/things?since=2026-01-01T00%3A00%3A00Z&handled=false&limit=200')
  expect(headers).toMatchObject({
    authorization: 'Bearer svc_live_Zq81-secret.value',
    'accept-encoding': 'gzip',
    'user-agent': 'deskmirror',
  })
  expect(client.requestCount()).toBe(1)
})

test('a response has its data, its request id, and the clocks of both sides', async () => {
  const date = 'Wed, 18 Nov 2026 10:00:00 GMT'
  const body = '{"data":{"id":12345678901234567890},"requestId":"req-7"}'
  const service = await startTestService(jsonAnswer(200, body, { date }))
  const answer = await createTestClient(service.url, { now: () => 42 }).get('/thing', {}, 'fresh')
  expect(answer).toEqual({
    data: { id: 12345678901234567890n },
    status: 200,
    requestId: 'req-7',
    serverDate: Date.parse('2026-11-18T10:00:00Z') / 1000,
    cursorLimit: 0,
    requestedAt: 42,
  })
})

test('the header x-request-id is used if the body has no request id', async () => {
  const service = await startTestService(
    jsonAnswer(200, { data: {} }, { 'x-request-id': 'from-header' }),
  )
  expect(await createTestClient(service.url).get('/thing', {}, 'fresh')).toMatchObject({
    requestId: 'from-header',
  })
})

describe('compressed bodies', () => {
  const text = JSON.stringify({ data: { word: 'ö'.repeat(1000) } })
  const compressed: Record<string, Buffer> = {
    gzip: gzipSync(text),
    zstd: zstdCompressSync(text),
    br: brotliCompressSync(text),
    deflate: deflateSync(text),
    'gzip, br': brotliCompressSync(gzipSync(text)),
  }
  test.for(Object.entries(compressed))('%s is read', async ([encoding, body]) => {
    const service = await startTestService(sendBytes(body, encoding))
    const answer = await createTestClient(service.url).get('/thing', {}, 'fresh')
    expect(answer.data).toEqual({ word: 'ö'.repeat(1000) })
  })

  test('one that would exceed the cap is not decompressed', async () => {
    const spaces = Buffer.alloc(50_000_000, ' ')
    for (const [encoding, bomb] of Object.entries({
      gzip: gzipSync(spaces),
      zstd: zstdCompressSync(spaces),
    })) {
      const service = await startTestService(sendBytes(bomb, encoding))
      const failure = await failureOf(
        createTestClient(service.url, { maxBodyBytes: 1_000_000 }).send(readCall),
      )
      expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: true, status: 200 })
      expect(failure).toHaveProperty('why', expect.stringContaining('more than 1000000 bytes'))
    }
  })
})

test('an endless body is aborted at the cap', async () => {
  const service = await startTestService((_request, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(65_536, ' ')));
      response.once('drain', more)
    }
    more()
  })
  const failure = await failureOf(
    createTestClient(service.url, { maxBodyBytes: 1_000_000 }).send(readCall),
  )
  expect(failure).toHaveProperty('why', expect.stringContaining('more than 1000000 bytes'))
})

describe('a write', () => {
  test('is refused if writing is switched off: it takes no slot, and reads continue', async () => {
    const service = await startTestService(emptyListAnswer)
    const budget = memoryBudget({
      ...unlimitedPolicy,
      writeRate: { requests: 0, windowMs: 60_000 },
    })
    const client = createTestClient(service.url, { readOnly: true, budget })
    const refused = {
      exitCode: 2,
      message: expect.stringMatching(/DESKMIRROR_READ_ONLY.*POST \/thing was not sent/),
    }
    for (const method of ['POST', 'PATCH'] as const)
      await expect(client.send({ ...writeCall, method })).rejects.toMatchObject({
        name: 'UserError',
        exitCode: 2,
      })
    await expect(client.send(writeCall)).rejects.toMatchObject(refused)
    await client.send(readCall)
    expect([service.requestCount(), client.requestCount()]).toEqual([1, 1])
  })

  test('sends its body as JSON, with integers beyond 2^53 whole, on its own connection', async () => {
    const bodies: string[] = []
    const service = await startTestService((request, response) => {
      request.on('data', (chunk) => bodies.push(String(chunk)))
      request.on('end', () => emptyListAnswer(request, response))
    })
    const call: ApiRequest = { ...writeCall, method: 'PATCH', body: { id: 9007199254740993n } }
    await createTestClient(service.url).send(call)
    expect(bodies).toEqual(['{"id":9007199254740993}'])
    expect(service.lastRequest().headers).toMatchObject({
      'content-type': 'application/json',
      connection: 'close',
    })
  })

  test.for<[string, RequestHandler, unknown]>([
    ['204 without a body', (_request, response) => void response.writeHead(204).end(), null],
    ['201 without a body', (_request, response) => void response.writeHead(201).end(), null],
    ['200 with an envelope', jsonAnswer(200, { data: { id: 1 } }), { id: 1 }],
    ['200 with a JSON object that is not an envelope', jsonAnswer(200, { ok: true }), null],
  ])('is done when the service answers %s', async ([, answer, data]) => {
    const service = await startTestService(answer)
    expect((await createTestClient(service.url).send(writeCall)).data).toEqual(data)
  })

  test.for<[string, RequestHandler]>([
    ['a page of HTML', jsonAnswer(200, '<html>welcome</html>')],
    ['half a body', jsonAnswer(200, '{"data":{"id"')],
    ['a 503', jsonAnswer(503, '')],
  ])('with %s as its response may have been done, and is sent once', async ([, answer]) => {
    const service = await startTestService(answer)
    const failure = await failureOf(createTestClient(service.url).send(writeCall))
    expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: true })
    expect(service.requestCount()).toBe(1)
  })

  test('that is being sent is not aborted by the stop signal', async () => {
    const stop = new AbortController()
    const service = await startTestService((request, response) => {
      stop.abort()
      request.socket.once('data', () => {})
      setImmediate(() => emptyListAnswer(request, response))
    })
    const client = createTestClient(service.url, { signal: stop.signal })
    expect(await client.send(writeCall)).toMatchObject({ status: 200 })
  })
})

function sendBytes(body: Buffer, encoding: string): RequestHandler {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
    response.end(body)
  }
}
