/** The sandbox over HTTP: a full, stateful server of the API on loopback, with its description and controls for tests. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { escapeHtml } from '../values/html.ts'
import type { Ms } from '../values/time.ts'
import { controlPrefix, type Exchange, handleControl, type Sandbox } from './control.ts'
import { widgetPath } from './endpoints.ts'
import { createMemorySandbox, type SandboxOptions } from './memory-sandbox.ts'
import { purposes, toUnitInterval } from './random.ts'
import { readBodyText, sendResponse } from './response.ts'
import { receiveRequest, type Service } from './service.ts'

export type { Sandbox } from './control.ts'
export type { KeyOptions, ProjectOptions, SandboxOptions } from './memory-sandbox.ts'

/** Resolves when it listens. Throws RangeError for invalid options, and the system's error for a port in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const prefix = options.prefix ?? ''
  const memory = createMemorySandbox(options)
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 })
  await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const stopped = once(server, 'close').then(() => undefined)
  const stop = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await stopped
  }
  const network = { origin, port, baseUrl: `${origin}${prefix}`, widgetUrl: origin, stop, stopped }
  // Not spread: a getter stays one.
  const sandbox = Object.defineProperties(network, Object.getOwnPropertyDescriptors(memory)) as Sandbox
  server.on('request', (incoming, response) => {
    response.sendDate = false
    // A client that disconnects early is not an error of the sandbox.
    for (const stream of [incoming, response]) stream.on('error', () => undefined)
    const [path = '/', ...search] = (incoming.url ?? '/').split('?')
    route(sandbox, prefix, { path, search: search.join('?'), incoming, response }).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`the sandbox has a bug: ${error instanceof Error ? error.stack : String(error)}\n`)
    })
  })
  return sandbox
}

async function route(sandbox: Sandbox, prefix: string, exchange: Exchange): Promise<void> {
  const { path: full, incoming, response } = exchange
  if (full.startsWith(controlPrefix)) return handleControl(sandbox, exchange)
  const path = prefix !== '' && full.startsWith(`${prefix}/`) && full !== widgetPath ? full.slice(prefix.length) : full
  if (incoming.method === 'GET' && path === '/openapi.yaml')
    return sendText(response, 'application/yaml', description())
  if (incoming.method === 'GET' && path === '/public/docs') return sendText(response, 'text/html', descriptionPage())
  // With a prefix configured, other paths do not exist; the widget's path has its own version segment.
  const outside = prefix !== '' && path === full && full !== widgetPath
  return handleRequest(sandbox.service, { ...exchange, path: outside ? `/outside${full}` : path })
}

function sendText(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` })
  response.end(body)
}

/** `path` is relative to the base URL. */
async function handleRequest(service: Service, { path, search, incoming, response }: Exchange): Promise<void> {
  const number = service.nextNumber()
  const { method = 'GET', headers } = incoming
  const bodyText = method === 'GET' ? '' : await readBodyText(incoming)
  await simulateLatency(service, 'latency.before', number)
  const received = receiveRequest(service, { method, path, search, headers, bodyText }, number)
  const { entry, fault, requestId } = received
  response.once('close', () => {
    entry.answeredAt = service.realNow()
  })
  if (fault === 'reset-before') return void incoming.socket.resetAndDestroy()
  const result = received.respond()
  await simulateLatency(service, 'latency.after', number)
  if (fault === 'slow') await pause(service.switches()['fault.slowMs'])
  if (fault === 'reset-after') return void incoming.socket.resetAndDestroy()
  entry.status = result.status
  const date = dateHeader(service, number)
  if (date !== null) response.setHeader('date', date)
  response.setHeader('x-request-id', requestId)
  await sendResponse(incoming, response, result, fault, service.switches())
}

/** The `Date` header of a response; null: it has none. */
export function dateHeader(service: Service, number: number): string | null {
  const { 'date.header': header, 'date.offset': offset } = service.switches()
  if (header === 'absent') return null
  const fiveMinutes: Ms = 300_000
  const jump = number % 2 === 0 ? fiveMinutes : -fiveMinutes
  const off = { right: 0, ahead: fiveMinutes, behind: -fiveMinutes, jumping: jump }[header]
  return new Date(service.clock() + off + offset * 1000).toUTCString()
}

async function simulateLatency(service: Service, name: 'latency.before' | 'latency.after', number: number) {
  const s = service.switches()
  const usual: Ms = s[name]
  if (usual === 0) return
  const chance = toUnitInterval(service.random(purposes.latency, number, name === 'latency.before' ? 0 : 1))
  await pause(usual * (1 - s['latency.spread'] + 2 * s['latency.spread'] * chance))
}

/** The API description. In a checkout its files are two levels up, in a build three. */
function description(): string {
  const folders = ['../../schema/', '../../../schema/'].map((path) => new URL(path, import.meta.url))
  const folder = folders.find((url) => existsSync(new URL('openapi.yaml', url)))
  if (folder === undefined) throw new Error('schema/openapi.yaml is missing')
  return ['openapi.yaml', 'openapi-components.yaml'].map((name) => readFileSync(new URL(name, folder), 'utf8')).join('')
}

function descriptionPage(): string {
  const style = 'body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}'
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The API</title><style>${style}</style></head>
<body><h1>The API</h1><p><a href="../openapi.yaml">openapi.yaml</a></p><pre>${escapeHtml(description())}</pre></body></html>\n`
}
