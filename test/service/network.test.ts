/**
 * Servers other than the service at an address: each error is a sentence for a person, not a
 * library's message.
 */
import { createServer as httpServer } from 'node:http'
import { createServer as httpsServer } from 'node:https'
import { type AddressInfo, type Server, createServer as tcpServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/service/client.ts'
import { networkErrorText } from '../../src/service/network-errors.ts'
import { createMemoryStore } from '../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../src/service/rate-limit/request-budget.ts'
import { freePort } from '../support/private-server.ts'
import { certificate } from '../support/tls.ts'

const rate = { requests: 1000, windowMs: 1000 }

/** The error message of a read at that address. */
async function errorAt(address: string): Promise<string> {
  const client = createClient({
    baseUrl: new URL(address),
    key: 'svc_live_0123456789',
    budget: createRequestBudget(
      createMemoryStore({ rate, writeRate: rate, reserve: 0, rateMargin: 0.02 }),
    ),
    signal: new AbortController().signal,
    retries: { attempts: 1, baseMs: 1, capMs: 1, maxRequestedWaitMs: 0 },
  })
  onTestFinished(() => client.close())
  const error = await client.get('/x', {}, 'fresh').catch((thrown: unknown) => thrown)
  return String(error instanceof Error ? error.message : error)
}

async function openPort(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test('the web page of a proxy is not a response of the service', async () => {
  const page = '<!DOCTYPE html><html><body>Please log in</body></html>'
  const port = await openPort(
    httpServer((_, answer) => answer.setHeader('content-type', 'text/html').end(page)),
  )
  expect(await errorAt(`http://127.0.0.1:${port}`)).toContain(
    '200 with a web page: a proxy, or another service, answers there',
  )
})

test('an https address of a plain http server', async () => {
  const port = await openPort(httpServer((_, answer) => answer.end('{}')))
  expect(await errorAt(`https://127.0.0.1:${port}`)).toMatch(
    /does not speak HTTPS correctly: is it plain HTTP, or a proxy\? \(ERR_SSL_\w+\)$/,
  )
})

test('a self-signed certificate', async () => {
  const port = await openPort(httpsServer(certificate, (_, answer) => answer.end('{}')))
  expect(await errorAt(`https://localhost:${port}`)).toMatch(
    /not signed by an authority that this machine trusts; NODE_EXTRA_CA_CERTS=FILE.*\(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
  )
})

test('a server that does not speak HTTP', async () => {
  const port = await openPort(
    tcpServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.2\r\n')),
  )
  expect(await errorAt(`http://127.0.0.1:${port}`)).toMatch(
    /the server does not speak HTTP: is the port right\?/,
  )
})

test('a server that closes the connection', async () => {
  const port = await openPort(tcpServer((socket) => socket.destroy()))
  expect(await errorAt(`http://127.0.0.1:${port}`)).toMatch(
    /the connection was closed without a response \((UND_ERR_SOCKET|.*ECONNRESET)/,
  )
})

test('a port on which no server listens', async () => {
  const port = await freePort()
  expect(await errorAt(`http://127.0.0.1:${port}`)).toContain(
    `nothing listens at that address (connect ECONNREFUSED 127.0.0.1:${port})`,
  )
})

test.each([
  ['ENOTFOUND', /host name is unknown/],
  ['EAI_AGAIN', /cannot be resolved/],
  ['CERT_HAS_EXPIRED', /has expired/],
  ['CERT_NOT_YET_VALID', /clock/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /for another host/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /not signed by an authority/],
  ['EMFILE', /ulimit -n/],
])('an error that cannot be caused here has a sentence too: %s', (code, pattern) => {
  expect(networkErrorText(code)).toMatch(pattern)
})
