/** The key is never in an error, a cause or a log line. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { createClient } from '../../src/service/client.ts'
import {
  createTestClient,
  errorOf,
  jsonAnswer,
  memoryBudget,
  type RequestHandler,
  readCall,
  startTestService,
  testKey,
  writeCall,
} from './test-service.ts'

const echo = `You sent Bearer ${testKey} (${encodeURIComponent(testKey)}, ${Buffer.from(testKey).toString('base64')})`
const echoing = {
  code: testKey,
  message: echo,
  status: 400,
  context: { issues: [{ path: testKey }, echo] },
}

const answers: Record<string, RequestHandler> = {
  ...Object.fromEntries(
    [200, 302, 400, 401, 403, 404, 429, 500, 503].map((status) => [
      `a ${status} that repeats the key`,
      jsonAnswer(
        status,
        { error: { ...echoing, status }, requestId: testKey },
        { 'x-request-id': testKey, location: `/x/${testKey}` },
      ),
    ]),
  ),
  'a missing scope with the same name': jsonAnswer(403, {
    error: { code: 'api_key_scope_missing', message: `a:read ${testKey}:read` },
  }),
  ...Object.fromEntries(
    [265, 275, 285].map((length) => [
      `a message that is truncated within the key, after ${length} characters`,
      jsonAnswer(400, { error: { code: 'odd', message: 'x'.repeat(length) + testKey } }),
    ]),
  ),
  'an encoding with the same name': jsonAnswer(200, {}, { 'content-encoding': testKey }),
  'a broken connection': (request) => void request.socket.destroy(),
  'a response that is not HTTP': (request) => void request.socket.end(`${echo}\r\n\r\n`),
  'no response': () => {},
}

test.for(Object.entries(answers))('%s', async ([, answer]) => {
  const lines: unknown[] = []
  const log = {
    debug: (event: unknown) => void lines.push(event),
    warn: (event: unknown) => void lines.push(event),
  }
  const service = await startTestService(answer)
  const budget = { ...memoryBudget(), recordThrottle: async () => {} }
  const retries = { attempts: 2, baseMs: 1, capMs: 1, maxRequestedWaitMs: 1 }
  const client = createTestClient(service.url, { log, timeoutMs: 200, retries, budget })
  const errors = [
    await errorOf(client.send(readCall)),
    await errorOf(client.send(writeCall)),
    await errorOf(client.get('/thing', {}, 'fresh')),
  ]
  const shown =
    inspect([errors, lines, client], { depth: 9, showHidden: true }) +
    JSON.stringify([errors, lines])
  expect(lines.length).toBeGreaterThan(0)
  expect(shown).not.toContain(testKey)
  expect(shown).not.toContain(testKey.slice(0, 12))
  expect(shown).not.toContain(encodeURIComponent(testKey))
  expect(shown).not.toContain(Buffer.from(testKey).toString('base64'))
})

test.for([
  'http://example.com',
  'http://10.0.0.1/v1',
  'https://user:pass@example.com',
  'https://example.com?key=1',
])('a base URL that would expose the key is refused: %s', (address) => {
  const signal = new AbortController().signal
  const create = () =>
    createClient({ baseUrl: new URL(address), key: testKey, budget: memoryBudget(), signal })
  expect(create).toThrow(/^the base URL /)
})

test.for(['with\nnewline', 'with space', 'ünïcode', ''])(
  'a key that cannot be a header is refused without showing it',
  (invalidKey) => {
    const signal = new AbortController().signal
    const create = () =>
      createClient({
        baseUrl: new URL('https://x.invalid'),
        key: invalidKey,
        budget: memoryBudget(),
        signal,
      })
    expect(create).toThrow('the API key holds characters that cannot be sent in a header')
  },
)
