/** The widget token: how it is requested, and where it is found in an undocumented answer. */
import { describe, expect, test } from 'vitest'
import { mintToken, type WidgetSession } from '../../src/service/widget-token.ts'
import { UserError } from '../../src/values/user-error.ts'
import {
  createTestClient,
  failureOf,
  jsonAnswer,
  startTestService,
  testKey,
} from './test-service.ts'

const session: WidgetSession = {
  visitor: { email: 'ada@example.com', name: 'Ada' },
  metadata: { plan: 'pro', token: 'of-the-visitor-and-long-enough' },
  ttl: 300,
}
const uuid = '7f0c5a52-6f0d-4f8e-9a56-0b3c1d2e4f60'
const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'

async function mintFrom(body: unknown, headers: Record<string, string> = {}) {
  const service = await startTestService(jsonAnswer(200, body, headers))
  return mintToken(createTestClient(service.url), session)
}

test('one POST on its own connection sends the key, the visitor, the metadata and the lifetime', async () => {
  const bodies: string[] = []
  const service = await startTestService((request, response) => {
    request.on('data', (chunk) => bodies.push(String(chunk)))
    request.on('end', () =>
      jsonAnswer(201, { data: { token: 'wgt_1' }, requestId: 'r' })(request, response),
    )
  })
  expect((await mintToken(createTestClient(service.url), session)).token).toBe('wgt_1')
  const { method, url, headers } = service.lastRequest()
  expect([method, url, service.requestCount()]).toEqual(['POST', '/v1/v1/widget/token', 1])
  expect(headers).toMatchObject({ authorization: `Bearer ${testKey}`, connection: 'close' })
  expect(JSON.parse(bodies.join(''))).toEqual(session)
})

describe('the token is found', () => {
  const { ttl, ...sentFields } = session
  test.for<[string, unknown, string]>([
    ['as the data itself', { data: 'wgt_12' }, 'wgt_12'],
    ['by its name', { data: { id: uuid, token: 'x1' } }, 'x1'],
    ['by another name of it', { data: { access_token: 'x1', token_type: 'Bearer' } }, 'x1'],
    ['further down', { data: { session: { id: uuid, widgetToken: 'x1' } } }, 'x1'],
    ['nearer to the top first', { data: { jwt: 'x1', user: { token: 'x2' } } }, 'x1'],
    [
      'below its name',
      { data: { token: { id: uuid, value: jwt, expiresAt: '2026-11-21T12:00:00Z' } } },
      jwt,
    ],
    ['without an envelope', { token: 'x1', requestId: 'req-0123456789abcdef' }, 'x1'],
    ['as a JSON text', JSON.stringify(jwt), jwt],
    ['as plain text', `${jwt}\n`, jwt],
    [
      'as the only text that looks like one',
      { data: { id: uuid, type: 'widget', credential: jwt } },
      jwt,
    ],
    ['but not in the fields that we sent', { data: { ...sentFields, secret: jwt } }, jwt],
  ])('%s', async ([, body, token]) => {
    expect((await mintFrom(body)).token).toBe(token)
  })
})

describe('the expiry time is known only if the response says it', () => {
  const noon = Date.parse('2026-11-21T12:00:00Z') / 1000
  test.for<[string, unknown, number | null]>([
    ['a time', { token: 'x1', expiresAt: '2026-11-21T12:00:00Z' }, noon],
    ['seconds since 1970', { token: 'x1', exp: noon }, noon],
    ['milliseconds since 1970', { token: 'x1', expires_at: noon * 1000 }, noon],
    ["a lifetime, by the service's clock", { token: 'x1', expires_in: 60 }, noon + 60],
    ['nothing', { token: 'x1' }, null],
    ['nonsense', { token: 'x1', expiresAt: 'soon', expires: 1e300 }, null],
  ])('%s', async ([, data, expiresAt]) => {
    const token = await mintFrom({ data }, { date: 'Sat, 21 Nov 2026 12:00:00 GMT' })
    expect(token).toMatchObject({ expiresAt, answer: data })
  })
})

describe('a response without a recognised token is an error that names its fields and shows no value', () => {
  test.for<[string, unknown, RegExp]>([
    [
      'two that look like one',
      { data: { first: jwt, second: `${jwt}x` } },
      /the fields first, second \(request/,
    ],
    ['a name with nothing below', { data: { token: null, ok: true } }, /the fields token, ok/],
    ['a token of two lines', { data: { token: `${jwt}\n${jwt}` } }, /the fields token/],
    ['no data', { data: {} }, /no fields/],
    ['a page of HTML', '<html><body>Please log in</body></html>', /no fields/],
  ])('%s', async ([, body, pattern]) => {
    const error = await mintFrom(body, { 'x-request-id': 'req-9' }).catch(
      (reason: unknown) => reason,
    )
    if (!(error instanceof UserError)) throw error
    expect([error.exitCode, error.why]).toEqual([1, expect.stringMatching(pattern)])
    expect(JSON.stringify([error.what, error.why, error.next])).not.toMatch(/eyJ|Please/)
  })

  test('an empty body is not a response', async () => {
    const service = await startTestService(jsonAnswer(200, ''))
    const failure = await failureOf(mintToken(createTestClient(service.url), session))
    expect(failure).toMatchObject({ kind: 'transient', status: 200 })
  })
})

test('a redirect is not followed, and a failure is not retried', async () => {
  const headers = { location: 'https://elsewhere.example/v1/widget/token' }
  for (const [status, kind] of Object.entries({
    307: 'refused',
    503: 'transient',
    401: 'denied',
  })) {
    const service = await startTestService(jsonAnswer(Number(status), '', headers))
    expect(await failureOf(mintToken(createTestClient(service.url), session))).toMatchObject({
      kind,
      status: Number(status),
    })
    expect(service.requestCount()).toBe(1)
  }
})
