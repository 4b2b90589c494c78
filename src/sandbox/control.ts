/** The controls of a sandbox over HTTP, for a sandbox in another process. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Json, stringifyJson } from '../values/json.ts'
import { isLoopback } from '../values/server-address.ts'
import type { ScriptedFault } from './faults.ts'
import type { KeyOptions, MemorySandbox } from './memory-sandbox.ts'
import type { MutationKind } from './mutations.ts'
import { type TruthStream, truthStreams } from './project.ts'
import { readBodyText, sendChunks } from './response.ts'
import type { Switches } from './switches.ts'

export const controlPrefix = '/_sandbox/'

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
export type Exchange = {
  readonly path: string
  readonly search: string
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
}

/** Responds with JSON; `GET truth/{stream}` with one row per line. An invalid request gets a 400 with the reason. */
export async function handleControl(sandbox: Sandbox, exchange: Exchange): Promise<void> {
  const { search, incoming, response } = exchange
  const path = exchange.path.slice(controlPrefix.length)
  if (isFromPage(incoming)) return sendJson(response, 403, { error: 'pages of other sites control nothing here' })
  const project = new URLSearchParams(search).get('project') ?? undefined
  try {
    const stream = /^truth\/(.*)/.exec(path)?.[1]
    if (incoming.method === 'GET' && stream !== undefined) return await sendTruth(sandbox, stream, project, response)
    const action = `${incoming.method} ${path}`
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined
    if (run === undefined) return sendJson(response, 404, { error: `no such control; there are ${controlNames}` })
    const body = incoming.method === 'POST' ? await readJsonBody(incoming) : {}
    const result = run(sandbox, body, project) ?? { done: true }
    if (path === 'shutdown') response.once('finish', () => void sandbox.stop())
    sendJson(response, 200, result)
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
    sendJson(response, 400, { error: error.message })
  }
}

/** Any page in a local browser can send requests here, also under a name of its own that it points to this machine. */
function isFromPage({ headers }: IncomingMessage): boolean {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers
  if (!isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')) return true
  return (site !== 'none' && site !== 'same-origin') || (origin !== undefined && URL.parse(origin)?.host !== host)
}

type ControlBody = Readonly<Record<string, unknown>>
type Action = (sandbox: Sandbox, body: ControlBody, project: string | undefined) => unknown

/** The controls: what each does with its body, and what it returns. */
const actions: Readonly<Record<string, Action>> = {
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
    changes: sandbox.applyRandomMutations(Number(n), Number(seed), kinds as MutationKind[] | undefined, project),
  }),
  // {"do": "visitorWrites", "with": ["<conversation id>", "text"]}
  'POST mutate': (sandbox, body, project) => {
    const mutations: Readonly<Record<string, unknown>> = sandbox.mutateIn(project)
    const name = String(body.do)
    const mutation = Object.hasOwn(mutations, name) ? mutations[name] : undefined
    if (typeof mutation !== 'function')
      throw new RangeError(`there is no mutation ${name}; there are ${Object.keys(mutations).join(', ')}`)
    return (mutation as (...given: readonly unknown[]) => unknown)(...(Array.isArray(body.with) ? body.with : []))
  },
  'POST fail': (sandbox, body) => sandbox.scriptFault(body as ScriptedFault),
  'POST forget-faults': (sandbox) => sandbox.clearFaults(),
  'POST keys': (sandbox, body, project) => sandbox.addKey(body as KeyOptions, project),
  'POST revoke': (sandbox, body) => sandbox.revokeKey(String(body.key)),
  'POST advance': (sandbox, body) => sandbox.advance(Number(body.ms)),
  'POST reset-log': (sandbox) => sandbox.resetLog(),
  'POST shutdown': () => undefined,
}
const controlNames = [...Object.keys(actions), ...truthStreams.map((stream) => `GET truth/${stream}`)].join(', ')

function sendTruth(sandbox: Sandbox, stream: string, project: string | undefined, response: ServerResponse) {
  if (!truthStreams.some((known) => known === stream)) throw new RangeError(`there is no stream ${stream}`)
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
  if (typeof body !== 'object' || body === null) throw new RangeError('the body must be a JSON object')
  return body as ControlBody
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(stringifyJson(body as Json))
}
