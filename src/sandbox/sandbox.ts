/** The sandbox over HTTP: a full, stateful server of the API on loopback, with its description and controls for tests. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { escapeHtml } from '../values/html.ts'
import type { Ms } from '../values/time.ts'
import { type ControlHandler, controlPrefix, createControl, type Sandbox } from './control.ts'
import { createMemorySandbox, type SandboxOptions } from './memory-sandbox.ts'
import { purposes, toUnitInterval } from './random.ts'
import { readBodyText, sendResponse } from './response.ts'
import { receiveRequest, type Service, widgetPath } from './service.ts'

export type { Sandbox } from './control.ts'
export type { KeyOptions, ProjectOptions, SandboxOptions } from './memory-sandbox.ts'

/** Resolves when it listens. Throws RangeError for invalid options, and the system's error for a port in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const prefix = options.prefix ?? ''
  const memory = createMemorySandbox(options)
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 })
  const port = await listen(server, options.port ?? 0)
  const origin = `http://127.0.0.1:${port}`
  const network = {
    origin,
    port,
    baseUrl: `${origin}${prefix}`,
    widgetUrl: origin,
    stop: () => stopServer(server),
    stopped: new Promise<void>((resolve) => server.once('close', () => resolve())),
  }
  // Not spread: a getter stays one.
  const sandbox = Object.defineProperties(network, Object.getOwnPropertyDescriptors(memory)) as Sandbox
  server.on('request', createListener(memory.service, prefix, createControl(sandbox)))
  return sandbox
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

async function stopServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}

function createListener(service: Service, prefix: string, control: ControlHandler) {
  return (incoming: IncomingMessage, response: ServerResponse): void => {
    response.sendDate = false
    // A client that disconnects early is not an error of the sandbox.
    for (const stream of [incoming, response]) stream.on('error', () => undefined)
    route(service, prefix, control, incoming, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`the sandbox has a bug: ${error instanceof Error ? error.stack : String(error)}\n`)
    })
  }
}

async function route(
  service: Service,
  prefix: string,
  control: ControlHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [full = '/', ...rest] = (incoming.url ?? '/').split('?')
  const search = rest.join('?')
  if (full.startsWith(controlPrefix)) return control(full.slice(controlPrefix.length), search, incoming, response)
  const path = prefix !== '' && full.startsWith(`${prefix}/`) && full !== widgetPath ? full.slice(prefix.length) : full
  if (incoming.method === 'GET' && path === '/openapi.yaml')
    return sendText(response, 'application/yaml', description())
  if (incoming.method === 'GET' && path === '/public/docs') return sendText(response, 'text/html', descriptionPage())
  // With a prefix configured, other paths do not exist; the widget's path has its own version segment.
  const outside = prefix !== '' && path === full && full !== widgetPath
  return handleRequest(service, outside ? `/outside${full}` : path, search, incoming, response)
}

function sendText(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` })
  response.end(body)
}

/** `path` is relative to the base URL. */
async function handleRequest(
  service: Service,
  path: string,
  search: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
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
  const [fiveMinutes, isEven]: [Ms, boolean] = [300_000, number % 2 === 0]
  const jump = isEven ? fiveMinutes : -fiveMinutes
  const off: Ms = { right: 0, ahead: fiveMinutes, behind: -fiveMinutes, jumping: jump, absent: 0 }[header]
  return header === 'absent' ? null : new Date(service.clock() + off + offset * 1000).toUTCString()
}

async function simulateLatency(service: Service, name: 'latency.before' | 'latency.after', number: number) {
  const s = service.switches()
  const usual: Ms = s[name]
  if (usual === 0) return
  const chance = toUnitInterval(service.random(purposes.latency, number, name === 'latency.before' ? 0 : 1))
  await pause(usual * (1 - s['latency.spread'] + 2 * s['latency.spread'] * chance))
}

/** The API description. In a checkout the file is two levels up, in a build three. */
function description(): string {
  const candidates = ['../../schema/openapi.yaml', '../../../schema/openapi.yaml']
  const path = candidates.map((candidate) => new URL(candidate, import.meta.url)).find((url) => existsSync(url))
  if (path === undefined) throw new Error('schema/openapi.yaml is missing')
  return readFileSync(path, 'utf8')
}

/** The parts of an API description that its page shows. */
type ApiDescription = {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> }
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{background:#f4f4f4;padding:.75rem;overflow:auto;font-size:.8rem}`

function descriptionPage(): string {
  const { info, paths, components } = parse(description()) as ApiDescription
  const title = escapeHtml(`${info.title} ${info.version}`)
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => section(`${method.toUpperCase()} ${path}`, described)),
  )
  const schemas = Object.entries(components?.schemas ?? {}).map(([name, schema]) => section(name, schema))
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${style}</style></head>
<body><h1>${title}</h1><p>${escapeHtml(info.description ?? '')}</p><p><a href="../openapi.yaml">openapi.yaml</a></p>
<h2>Operations</h2>${sections.join('\n')}<h2>Schemas</h2>${schemas.join('\n')}</body></html>\n`
}

function section(title: string, content: unknown): string {
  return `<h3>${escapeHtml(title)}</h3><pre>${escapeHtml(stringify(content))}</pre>`
}
