/** The service without its network: what it does with a complete request, and what it logs. */
import type { IncomingHttpHeaders } from 'node:http'
import { performance } from 'node:perf_hooks'
import { type Json, stringifyJson } from '../values/json.ts'
import { type EpochMs, minuteMs } from '../values/time.ts'
import { findRoute, isList, isWrite, type RouteMatch, type Scope } from './endpoints.ts'
import { createFaults, type FaultKind, faultOf, htmlPage } from './faults.ts'
import { applyRandomMutations, parseMutationKinds } from './mutations.ts'
import { checkQuery, notFound, Problem, problemResponse, validationProblem } from './problem.ts'
import type { Project } from './project.ts'
import { createRandom, purposes } from './random.ts'
import { createKeyLimits } from './rate-limit.ts'
import { jsonResponse, type ServiceResponse, withUpperIds, writeResponse } from './response.ts'
import type { Switches } from './switches.ts'

export type SandboxService = ReturnType<typeof createService>

export function createService(clock: () => EpochMs, switches: () => Switches, seed: number) {
  const random = createRandom(seed)
  let number = 0
  return {
    clock,
    switches,
    random,
    requestLog: [] as RequestLogEntry[],
    /** The valid keys by their secrets. */
    keys: new Map<
      string,
      { readonly id: string; readonly project: Project; readonly scopes: readonly Scope[] }
    >(),
    keyLimits: createKeyLimits(switches),
    faults: createFaults(random, switches),
    listRequestCounts: new Map<string, number>(),
    /** Never set back: rate limits and the request log use real time. */
    realNow: (): EpochMs => performance.timeOrigin + performance.now(),
    nextNumber: () => ++number,
  }
}

/** `chooseFault`: by default the service's scripted or random ones. */
export function receiveRequest(
  service: SandboxService,
  incoming: Received['incoming'],
  number: number,
  chooseFault = service.faults.nextFault,
) {
  const { method, path, search } = incoming
  const match = findRoute(method, path)
  const requestId = `req_${(service.random(purposes.token, number) >>> 0).toString(36)}${number.toString(36)}`
  const entry: RequestLogEntry = {
    number,
    requestId,
    arrivedAt: service.realNow(),
    answeredAt: null,
    method,
    path,
    query: search,
    operation: match?.operation.id ?? null,
    write: match !== undefined && isWrite(match.operation),
    keyId: null,
    status: null,
    fault: match === undefined ? null : chooseFault(match.operation, number, path),
  }
  service.requestLog.push(entry)
  return {
    entry,
    /** With the fault `reset-before` the service has not seen the request: do not call it. */
    respond: () => respond({ service, incoming, entry }, match),
  }
}

type Received = {
  readonly service: SandboxService
  /** Its body has been read. `path` is relative to the base URL. */
  readonly incoming: {
    readonly method: string
    readonly path: string
    /** Without its question mark. */
    readonly search: string
    readonly headers: IncomingHttpHeaders
    readonly bodyText: string
  }
  readonly entry: RequestLogEntry
}

function respond(received: Received, match: RouteMatch | undefined): ServiceResponse {
  const { service } = received
  const s = service.switches()
  const { requestId, fault: kind } = received.entry
  try {
    if (match === undefined) throw notFound('path')
    const project = authorize(received, match)
    const refusal = refuse(received.incoming.path, s)
    if (refusal !== null) return refusal
    const fault = kind === null ? null : faultOf(kind)
    const faulty = fault?.respond?.(requestId, s)
    if (faulty !== undefined && fault?.done === false) return faulty
    const performed = perform(received, project, match)
    const response = faulty ?? performed
    const showsUpper =
      s['ids.letters'] === (isList(match.operation) ? 'upper-in-lists' : 'upper-by-id')
    return showsUpper ? withUpperIds(response) : response
  } catch (error) {
    if (error instanceof Problem) return problemResponse(error, requestId, s, service.clock())
    throw error
  }
}

/** Throws Problem, or authenticates, applies the rate limit, and checks the scope. */
function authorize(
  { service, incoming, entry }: Received,
  { operation: { scope }, params }: RouteMatch,
): Project {
  const { authorization, 'x-api-key': header } = incoming.headers
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  const secret = scope === null ? bearer : ((Array.isArray(header) ? header[0] : header) ?? bearer)
  if (secret === undefined || secret === '') throw new Problem('api_key_missing')
  const key = service.keys.get(secret)
  if (key === undefined) throw new Problem('api_key_invalid')
  entry.keyId = key.id
  service.keyLimits.countRequest(key.id, entry.write, entry.arrivedAt)
  const mostInFlight = service.switches()['rate.inFlight']
  const isInFlight = ({ keyId, answeredAt, status }: RequestLogEntry) =>
    keyId === key.id && answeredAt === null && status === null
  if (mostInFlight > 0 && service.requestLog.filter(isInFlight).length > mostInFlight)
    throw new Problem('rate_limited', 'Too many requests at once')
  if (params.projectId !== undefined && key.project.id !== params.projectId.toLowerCase())
    throw new Problem('api_key_wrong_project')
  if (scope !== null && !key.scopes.includes(scope))
    throw new Problem('api_key_scope_missing', `The API key lacks the scope ${scope}`)
  return key.project
}

/** A code of the service, or the status of a gateway's page. */
const refusals: Readonly<Record<Switches['refused.answer'], Problem['code'] | number>> = {
  'wrong-project': 'api_key_wrong_project',
  'missing-scope': 'api_key_scope_missing',
  'invalid-key': 'api_key_invalid',
  restricted: 'conversation_restricted',
  'gateway-403': 403,
  'gateway-404': 404,
  'gateway-405': 405,
  'gateway-500': 500,
}

/** What concerns `refused.paths`. Throws Problem, or returns the answer of a gateway. */
function refuse(path: string, s: Switches): ServiceResponse | null {
  const parts = s['refused.paths'].split(',').filter((part) => part !== '')
  if (!parts.some((part) => path.includes(part))) return null
  const refusal = refusals[s['refused.answer']]
  if (typeof refusal === 'string') throw new Problem(refusal)
  return htmlPage(refusal)()
}

/** Performs the operation. Throws Problem. */
function perform(
  { service, incoming, entry }: Received,
  project: Project,
  { operation, params }: RouteMatch,
) {
  const { requestId, number } = entry
  const switches = service.switches()
  if (isList(operation)) mutateBeforeList(service, project)
  const query = new URLSearchParams(incoming.search)
  checkQuery(query, operation.query(switches), switches)
  const body = isWrite(operation) ? parseJsonBody(incoming.bodyText) : null
  const now = service.clock()
  const draw = (part: number) => service.random(purposes.token, number, part)
  const data = operation.run({ project, params, query, body, switches, now, draw })
  if (operation.scope === null && switches['token.answer'] === 'bare')
    return jsonResponse(200, stringifyJson(data))
  if (operation.scope === null || !isWrite(operation))
    return jsonResponse(200, stringifyJson({ data, requestId }))
  project.ledger.push({ requestId, operation: operation.id, params, body: body as Json, at: now })
  return writeResponse(data, requestId, switches)
}

function parseJsonBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw validationProblem({ field: 'body', message: 'must be JSON' })
  }
}

function mutateBeforeList(service: SandboxService, project: Project): void {
  const { 'move.every': every, 'move.kinds': kinds } = service.switches()
  if (every < 1) return
  const lists = (service.listRequestCounts.get(project.id) ?? 0) + 1
  service.listRequestCounts.set(project.id, lists)
  if (lists % every === 0) applyRandomMutations(project, 1, lists, parseMutationKinds(kinds))
}

/** Times use this machine's clock, not the service's. Keys and bodies are never logged. */
export type RequestLogEntry = {
  readonly number: number
  readonly requestId: string
  readonly arrivedAt: EpochMs
  /** When the last byte was sent, or the connection was cut; null = in progress. */
  answeredAt: EpochMs | null
  readonly method: string
  readonly path: string
  readonly query: string
  /** The operation's id in the API description; null = unknown path. */
  readonly operation: string | null
  readonly write: boolean
  keyId: string | null
  /** Null: no response was sent. */
  status: number | null
  readonly fault: FaultKind | null
}

export function countRequests(entries: readonly RequestLogEntry[]) {
  const writes = entries.filter(({ write }) => write)
  const faulty = entries.filter(({ fault }) => fault !== null)
  return {
    total: entries.length,
    byOperation: countBy(entries, ({ operation }) => operation ?? 'none'),
    byStatus: countBy(entries, ({ status }) => String(status ?? 'none')),
    byFault: countBy(faulty, ({ fault }) => String(fault)),
    /** The most that arrived with one key in any minute. */
    maxInWindow: { requests: mostInMinute(entries), writes: mostInMinute(writes) },
  }
}

function countBy(entries: readonly RequestLogEntry[], nameOf: (entry: RequestLogEntry) => string) {
  const groups = Map.groupBy(entries, nameOf)
  return Object.fromEntries([...groups].map(([name, group]) => [name, group.length]))
}

function mostInMinute(entries: readonly RequestLogEntry[]): number {
  let most = 0
  for (const [keyId, all] of Map.groupBy(entries, (entry) => entry.keyId)) {
    if (keyId === null) continue
    let oldest = 0
    for (const [n, { arrivedAt }] of all.entries()) {
      while ((all[oldest]?.arrivedAt ?? arrivedAt) <= arrivedAt - minuteMs) oldest += 1
      most = Math.max(most, n + 1 - oldest)
    }
  }
  return most
}
