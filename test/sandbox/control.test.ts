/**
 * The sandbox's controls are for programs of this machine, not for pages that its browser shows.
 */
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { ask } from '../http/test-server.ts'

test.each([
  [{ host: 'evil.example' }, 403],
  [{ origin: 'https://evil.example' }, 403],
  [{ origin: 'null' }, 403],
  [{ 'sec-fetch-site': 'cross-site' }, 403],
  [{ 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }, 403],
  [{}, 200],
  [{ 'sec-fetch-site': 'none' }, 200],
])('a request to control it with %o gets %i', async (headers, status) => {
  const sandbox = await startSandbox({ size: { conversations: 1, visitors: 1, calls: 0, days: 1 } })
  onTestFinished(() => sandbox.stop())
  const { origin } = new URL(sandbox.baseUrl)
  const before = sandbox.now()
  const sent = { method: 'POST', headers, body: '{"ms":86400000}' }
  expect((await ask(`${origin}/_sandbox/advance`, sent)).status).toBe(status)
  expect(sandbox.now() - before > 80_000_000).toBe(status === 200)
  expect(
    (await ask(`${origin}/_sandbox/keys`, { ...sent, body: '{"key":"svc_live_mine"}' })).status,
  ).toBe(status)
  expect((await ask(`${origin}/_sandbox/log`, { headers })).status).toBe(status)
})
