/** The controls of a sandbox over HTTP, for a sandbox in another process. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopback } from '../../core/base-url.ts'
import { stringifyJson } from '../../core/json.ts'
import type { Json } from '../../core/row.ts'
import type { Sandbox } from '../handle.ts'
import type { KeyOptions } from '../options.ts'
import type { MutationKind } from '../random-mutations.ts'
import type { Switches } from '../switches.ts'
import { type TruthStream, truthStreams } from '../truth.ts'
import type { ScriptedFault } from './faults.ts'

export const controlPrefix = '/_sandbox/'

export type ControlHandler = (
  path: string,
  search: string,
  incoming: IncomingMessage,
  response: ServerResponse,
) => Promise<void>

type Kinds = readonly MutationKind[] | undefined
type ControlBody = Readonly<Record<string, unknown>>

/** Responds with JSON; `GET truth/{stream}` with one row per line. An invalid request gets a 400 with the reason. */
export function createControl(sandbox: Sandbox): ControlHandler {
  return async (path, search, incoming, response) => {
    if (isFromPage(incoming)) return sendJson(response, 403, { error: 'pages of other sites control nothing here' })
    const query = new URLSearchParams(search)
    try {
      if (incoming.method === 'GET' && path.startsWith('truth/')) {
        return await sendTruth(sandbox, path.slice('truth/'.length), query, response)
      }
      const action = `${incoming.method} ${path}`
      const run = Object.hasOwn(actions, action) ? actions[action] : undefined
      if (run === undefined) return sendJson(response, 404, { error: `no such control; there are ${controlNames}` })
      const body = incoming.method === 'POST' ? await readJsonBody(incoming) : {}
      const result = run(sandbox, body, query.get('project') ?? undefined) ?? { done: true }
      if (path === 'shutdown') response.once('finish', () => void sandbox.stop())
      sendJson(response, 200, result)
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
      sendJson(response, 400, { error: error.message })
    }
  }
}

/** Any page in a local browser can send requests here, also under a name of its own that it points to this machine. */
function isFromPage({ headers }: IncomingMessage): boolean {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers
  if (!isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')) return true
  return (site !== 'none' && site !== 'same-origin') || (origin !== undefined && URL.parse(origin)?.host !== host)
}

type Action = (sandbox: Sandbox, body: ControlBody, project: string | undefined) => unknown

/** The controls: what each does with its body, and what it returns. */
const actions: Readonly<Record<string, Action>> = {
  'GET log': (sandbox) => sandbox.log(),
  'GET counts': (sandbox) => sandbox.counts(),
  'GET ledger': (sandbox, _, project) => sandbox.ledger(project),
  'GET switches': (sandbox) => sandbox.switches(),
  'GET about': (sandbox) => ({
    baseUrl: sandbox.baseUrl,
    widgetUrl: sandbox.widgetUrl,
    projectIds: sandbox.projectIds,
    now: new Date(sandbox.now()).toISOString(),
  }),
  'POST switches': (sandbox, body) => {
    sandbox.setSwitches(body as Partial<Switches>)
    return sandbox.switches()
  },
  'POST churn': (sandbox, body, project) => ({
    changes: sandbox.applyRandomMutations(Number(body.n), Number(body.seed), body.kinds as Kinds, project),
  }),
  // {"do": "visitorWrites", "with": ["<conversation id>", "text"]}
  'POST mutate': (sandbox, body, project) => mutate(sandbox, body, project),
  'POST fail': (sandbox, body) => sandbox.scriptFault(body as ScriptedFault),
  'POST forget-faults': (sandbox) => sandbox.clearFaults(),
  'POST keys': (sandbox, body, project) => sandbox.addKey(body as KeyOptions, project),
  'POST revoke': (sandbox, body) => sandbox.revokeKey(String(body.key)),
  'POST advance': (sandbox, body) => sandbox.advance(Number(body.ms)),
  'POST reset-log': (sandbox) => sandbox.resetLog(),
  'POST shutdown': () => undefined,
}
const controlNames = [...Object.keys(actions), ...truthStreams.map((stream) => `GET truth/${stream}`)].join(', ')

function mutate(sandbox: Sandbox, body: ControlBody, project: string | undefined): unknown {
  const mutations: Readonly<Record<string, unknown>> =
    project === undefined ? sandbox.mutate : sandbox.mutateIn(project)
  const name = String(body.do)
  const mutation = Object.hasOwn(mutations, name) ? mutations[name] : undefined
  if (typeof mutation !== 'function')
    throw new RangeError(`there is no mutation ${name}; there are ${Object.keys(mutations).join(', ')}`)
  return (mutation as (...given: readonly unknown[]) => unknown)(...(Array.isArray(body.with) ? body.with : []))
}

async function sendTruth(
  sandbox: Sandbox,
  stream: string,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  if (!truthStreams.some((known) => known === stream)) throw new RangeError(`there is no stream ${stream}`)
  const rows = sandbox.truth(stream as TruthStream, query.get('project') ?? undefined)
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  let lines: string[] = []
  for (const row of rows) {
    lines.push(stringifyJson(row))
    if (lines.length < 500) continue
    if (!response.write(`${lines.join('\n')}\n`)) await Promise.race([once(response, 'drain'), once(response, 'close')])
    if (response.destroyed) return
    lines = []
  }
  response.end(lines.length === 0 ? '' : `${lines.join('\n')}\n`)
}

async function readJsonBody(incoming: IncomingMessage): Promise<ControlBody> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const body: unknown = text === '' ? {} : JSON.parse(text)
  if (typeof body !== 'object' || body === null) throw new RangeError('the body must be a JSON object')
  return body as ControlBody
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(stringifyJson(body as Json))
}
