/** What may answer at an address instead of the service: each is a sentence for a person, and none a library's. */
import { createServer as httpServer } from 'node:http'
import { createServer as httpsServer } from 'node:https'
import { type AddressInfo, type Server, createServer as tcpServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createRequestBudget } from '../../src/api/rate-limit/request-budget.ts'
import { createClient } from '../../src/api/client.ts'
import { networkErrorText } from '../../src/api/network-error-text.ts'
import { createMemoryStore } from '../../src/api/rate-limit/state-store.ts'
import { freePort } from '../support/private-server.ts'

const rate = { requests: 1000, windowMs: 1000 }

/** What a person is told of a read at that address. */
async function told(address: string): Promise<string> {
  const client = createClient({
    baseUrl: new URL(address),
    key: 'svc_live_0123456789',
    budget: createRequestBudget(createMemoryStore({ rate, writeRate: rate, reserve: 0 })),
    signal: new AbortController().signal,
    retries: { attempts: 1, baseMs: 1, capMs: 1, maxAskedWaitMs: 0 },
  })
  onTestFinished(() => client.close())
  const error = await client.get('/x', {}, 'fresh').catch((thrown: unknown) => thrown)
  return String(error instanceof Error ? error.message : error)
}

async function opened(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Signed by itself, for localhost, and good for nothing else. */
const certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUe5wXlUZL6+i8kJDInYlFo5yftGswCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIzNDc0MVoYDzIxMjYxMDI4
MjM0NzQxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQX2skalMfwLzAfCokOfzSXSHXhEtJKx1GTv3OwLQHNyYOmmzmbd+Z/
C4uwOuIzkebBZHLzfoKXlRXbmmHkDN+to1MwUTAdBgNVHQ4EFgQUMn/xKSbkBZUF
A5CKqq5tmScW3tYwHwYDVR0jBBgwFoAUMn/xKSbkBZUFA5CKqq5tmScW3tYwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBu3z4TU9rCMtFtVDDXW5u0
QLAa6cPZg2cg4d+dQx1g1wIgHQaTw2RNDOXcpizRQxBLDubi5utHsmjDtj98uYAA
X7w=
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/uBMN2mBgMA3r2ze
t9EWjAwad9j3Pt9AghyrY+ki2ZqhRANCAAQX2skalMfwLzAfCokOfzSXSHXhEtJK
x1GTv3OwLQHNyYOmmzmbd+Z/C4uwOuIzkebBZHLzfoKXlRXbmmHkDN+t
-----END PRIVATE KEY-----`,
}

test('the page of a proxy is no answer of the service', async () => {
  const page = '<!DOCTYPE html><html><body>Please log in</body></html>'
  const port = await opened(httpServer((_, answer) => answer.setHeader('content-type', 'text/html').end(page)))
  expect(await told(`http://127.0.0.1:${port}`)).toContain(
    '200 with a web page: a proxy, or another service, answers there',
  )
})

test('https where http is spoken', async () => {
  const port = await opened(httpServer((_, answer) => answer.end('{}')))
  expect(await told(`https://127.0.0.1:${port}`)).toMatch(
    /does not speak https as it should: is it http, or a proxy\? \(ERR_SSL_\w+\)$/,
  )
})

test('a certificate that nobody has signed', async () => {
  const port = await opened(httpsServer(certificate, (_, answer) => answer.end('{}')))
  expect(await told(`https://localhost:${port}`)).toMatch(
    /signed by nobody whom this machine trusts; NODE_EXTRA_CA_CERTS=FILE.*\(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
  )
})

test('something that speaks no HTTP', async () => {
  const port = await opened(tcpServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.2\r\n')))
  expect(await told(`http://127.0.0.1:${port}`)).toMatch(/what answers there does not speak HTTP: is the port right\?/)
})

test('somebody who hangs up', async () => {
  const port = await opened(tcpServer((socket) => socket.destroy()))
  expect(await told(`http://127.0.0.1:${port}`)).toMatch(
    /the connection was closed without an answer \((UND_ERR_SOCKET|.*ECONNRESET)/,
  )
})

test('nobody', async () => {
  const port = await freePort()
  expect(await told(`http://127.0.0.1:${port}`)).toContain(
    `nothing listens at that address (connect ECONNREFUSED 127.0.0.1:${port})`,
  )
})

test.each([
  ['ENOTFOUND', /no host of that name/],
  ['EAI_AGAIN', /cannot be looked up just now/],
  ['CERT_HAS_EXPIRED', /has expired/],
  ['CERT_NOT_YET_VALID', /clock/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /made for another host/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /signed by nobody whom this machine trusts/],
  ['EMFILE', /ulimit -n/],
])('what cannot be brought about here has its sentence too: %s', (code, says) => {
  expect(networkErrorText(code)).toMatch(says)
})
