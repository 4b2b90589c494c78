/** The sandbox over HTTP: a stateful server of the API on loopback, with controls for tests. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { escapeHtml } from '../values/html.ts'
import { type Json, stringifyJson } from '../values/json.ts'
import { isLoopback } from '../values/server-address.ts'
import type { Ms } from '../values/time.ts'
import { widgetPath } from './endpoints.ts'
import type { ScriptedFault } from './faults.ts'
import {
  createMemorySandbox,
  type KeyOptions,
  type MemorySandbox,
  type SandboxOptions,
} from './memory-sandbox.ts'
import type { MutationKind } from './mutations.ts'
import { type TruthStream, truthStreams } from './project.ts'
import { purposes, toUnitInterval } from './random.ts'
import { readBodyText, sendChunks, sendResponse } from './response.ts'
import { receiveRequest, type SandboxService } from './service.ts'
import type { Switches } from './switches.ts'

/** Throws RangeError for invalid options, and the system's error for a port in use. */
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
  const sandbox = Object.defineProperties(
    network,
    Object.getOwnPropertyDescriptors(memory),
  ) as Sandbox
  server.on('request', (incoming, response) => {
    response.sendDate = false
    // A client that disconnects early is not an error of the sandbox.
    for (const stream of [incoming, response]) stream.on('error', () => undefined)
    const [path = '/', ...search] = (incoming.url ?? '/').split('?')
    route(sandbox, prefix, { path, search: search.join('?'), incoming, response }).catch(
      (error: unknown) => {
        if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
        response.end(
          `the sandbox has a bug: ${error instanceof Error ? error.stack : String(error)}\n`,
        )
      },
    )
  })
  return sandbox
}

async function route(sandbox: Sandbox, prefix: string, exchange: Exchange): Promise<void> {
  const { path: full, incoming, response } = exchange
  if (full.startsWith(controlPrefix)) return handleControl(sandbox, exchange)
  const path =
    prefix !== '' && full.startsWith(`${prefix}/`) && full !== widgetPath
      ? full.slice(prefix.length)
      : full
  if (incoming.method === 'GET' && path === '/openapi.yaml')
    return sendText(response, 'application/yaml', description())
  if (incoming.method === 'GET' && path === '/public/docs')
    return sendText(response, 'text/html', descriptionPage())
  // With a prefix, other paths do not exist; the widget's has its own version segment.
  const outside = prefix !== '' && path === full && full !== widgetPath
  return handleRequest(sandbox.service, { ...exchange, path: outside ? `/outside${full}` : path })
}

function sendText(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` })
  response.end(body)
}

/** `path` is relative to the base URL. */
async function handleRequest(
  service: SandboxService,
  { path, search, incoming, response }: Exchange,
): Promise<void> {
  const number = service.nextNumber()
  const { method = 'GET', headers } = incoming
  const bodyText = method === 'GET' ? '' : await readBodyText(incoming)
  await simulateLatency(service, 'latency.before', number)
  const received = receiveRequest(service, { method, path, search, headers, bodyText }, number)
  const { entry } = received
  const { fault, requestId } = entry
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
export function dateHeader(service: SandboxService, number: number): string | null {
  const { 'date.header': header, 'date.offset': offset } = service.switches()
  if (header === 'absent') return null
  const fiveMinutes: Ms = 300_000
  const jump = number % 2 === 0 ? fiveMinutes : -fiveMinutes
  const off = { right: 0, ahead: fiveMinutes, behind: -fiveMinutes, jumping: jump }[header]
  return new Date(service.clock() + off + offset * 1000).toUTCString()
}

async function simulateLatency(
  service: SandboxService,
  name: 'latency.before' | 'latency.after',
  number: number,
) {
  const s = service.switches()
  const usual: Ms = s[name]
  if (usual === 0) return
  const chance = toUnitInterval(
    service.random(purposes.latency, number, name === 'latency.before' ? 0 : 1),
  )
  await pause(usual * (1 - s['latency.spread'] + 2 * s['latency.spread'] * chance))
}

/** The API description. In a checkout its files are two levels up, in a build three. */
function description(): string {
  const folders = ['../../schema/', '../../../schema/'].map(
    (path) => new URL(path, import.meta.url),
  )
  const folder = folders.find((url) => existsSync(new URL('openapi.yaml', url)))
  if (folder === undefined) throw new Error('schema/openapi.yaml is missing')
  return ['openapi.yaml', 'openapi-components.yaml']
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('')
}

function descriptionPage(): string {
  const style =
    'body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}'
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The API</title><style>${style}</style></head>
<body><h1>The API</h1><p><a href="../openapi.yaml">openapi.yaml</a></p><pre>${escapeHtml(description())}</pre></body></html>\n`
}

const controlPrefix = '/_sandbox/'

export type Sandbox = MemorySandbox & {
  readonly origin: string
  readonly port: number
  /** The connection settings for a client. */
  readonly baseUrl: string
  readonly widgetUrl: string
  /** Cuts every connection and frees the port. */
  readonly stop: () => Promise<void>
  /** Resolves when it has stopped, for any reason. */
  readonly stopped: Promise<void>
}

/** A request that arrives, with the path and the query of its address, and its response. */
type Exchange = {
  readonly path: string
  readonly search: string
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
}

/** JSON; `GET truth/{stream}` with one row per line. A 400 has the reason. */
async function handleControl(sandbox: Sandbox, exchange: Exchange): Promise<void> {
  const { search, incoming, response } = exchange
  const path = exchange.path.slice(controlPrefix.length)
  if (isFromPage(incoming))
    return sendJson(response, 403, { error: 'pages of other sites control nothing here' })
  const project = new URLSearchParams(search).get('project') ?? undefined
  try {
    const stream = /^truth\/(.*)/.exec(path)?.[1]
    if (incoming.method === 'GET' && stream !== undefined)
      return await sendTruth(sandbox, stream, project, response)
    const action = `${incoming.method} ${path}`
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined
    if (run === undefined)
      return sendJson(response, 404, { error: `no such control; there are ${controlNames}` })
    const body = incoming.method === 'POST' ? await readJsonBody(incoming) : {}
    const result = run(sandbox, body, project) ?? { done: true }
    if (path === 'shutdown') response.once('finish', () => void sandbox.stop())
    sendJson(response, 200, result)
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
    sendJson(response, 400, { error: error.message })
  }
}

/** Any page in a local browser can send requests here, also under a name of its own. */
function isFromPage({ headers }: IncomingMessage): boolean {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers
  if (!isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')) return true
  return (
    (site !== 'none' && site !== 'same-origin') ||
    (origin !== undefined && URL.parse(origin)?.host !== host)
  )
}

type ControlBody = Readonly<Record<string, unknown>>
/** The controls: what each does with its body, and what it returns. */
const actions: Readonly<
  Record<string, (sandbox: Sandbox, body: ControlBody, project: string | undefined) => unknown>
> = {
  'GET log': (sandbox) => sandbox.log(),
  'GET counts': (sandbox) => sandbox.counts(),
  'GET ledger': (sandbox, _, project) => sandbox.ledger(project),
  'GET switches': (sandbox) => sandbox.switches(),
  'GET about': ({ baseUrl, widgetUrl, projectIds, now }) => {
    return { baseUrl, widgetUrl, projectIds, now: new Date(now()).toISOString() }
  },
  'POST switches': (sandbox, body) => {
    sandbox.setSwitches(body as Partial<Switches>)
    return sandbox.switches()
  },
  'POST churn': (sandbox, { n, seed, kinds }, project) => ({
    changes: sandbox.applyRandomMutations(
      Number(n),
      Number(seed),
      kinds as MutationKind[] | undefined,
      project,
    ),
  }),
  // {"do": "visitorWrites", "with": ["<conversation id>", "text"]}
  'POST mutate': (sandbox, body, project) => {
    const mutations: Readonly<Record<string, unknown>> = sandbox.mutateIn(project)
    const name = String(body.do)
    const mutation = Object.hasOwn(mutations, name) ? mutations[name] : undefined
    if (typeof mutation !== 'function')
      throw new RangeError(
        `there is no mutation ${name}; there are ${Object.keys(mutations).join(', ')}`,
      )
    return (mutation as (...given: readonly unknown[]) => unknown)(
      ...(Array.isArray(body.with) ? body.with : []),
    )
  },
  'POST fail': (sandbox, body) => sandbox.scriptFault(body as ScriptedFault),
  'POST forget-faults': (sandbox) => sandbox.clearFaults(),
  'POST keys': (sandbox, body, project) => sandbox.addKey(body as KeyOptions, project),
  'POST revoke': (sandbox, body) => sandbox.revokeKey(String(body.key)),
  'POST advance': (sandbox, body) => sandbox.advance(Number(body.ms)),
  'POST reset-log': (sandbox) => sandbox.resetLog(),
  'POST shutdown': () => undefined,
}
const controlNames = [
  ...Object.keys(actions),
  ...truthStreams.map((stream) => `GET truth/${stream}`),
].join(', ')

function sendTruth(
  sandbox: Sandbox,
  stream: string,
  project: string | undefined,
  response: ServerResponse,
) {
  if (!truthStreams.some((known) => known === stream))
    throw new RangeError(`there is no stream ${stream}`)
  const rows = sandbox.truth(stream as TruthStream, project)
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  return sendChunks(
    response,
    rows.map((row) => `${stringifyJson(row)}\n`),
  )
}

async function readJsonBody(incoming: IncomingMessage): Promise<ControlBody> {
  const text = await readBodyText(incoming)
  const body: unknown = text === '' ? {} : JSON.parse(text)
  if (typeof body !== 'object' || body === null)
    throw new RangeError('the body must be a JSON object')
  return body as ControlBody
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(stringifyJson(body as Json))
}
