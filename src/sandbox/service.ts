/** The service without its network: what it does with a request that has arrived completely. */
import type { IncomingHttpHeaders } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Json } from '../values/json.ts'
import { type EpochMs, type Ms, toTimestamp } from '../values/time.ts'
import { createFaults, type FaultKind, faultKinds, faultResponse } from './faults.ts'
import { applyRandomMutations, parseMutationKinds } from './mutations.ts'
import { findRoute, isList, isWrite, type Operation, type RouteMatch, type Scope } from './operations.ts'
import { checkQuery, notFound, Problem, readBody, validationProblem } from './problem.ts'
import type { Project } from './project.ts'
import { createRandom, purposes } from './random.ts'
import { createKeyLimits } from './rate-limit.ts'
import { jsonResponse, problemResponse, type ServiceResponse, successResponse, withUpperIds } from './response.ts'
import type { Switches } from './switches.ts'

/** `id` stands for the key in logs and responses; the key itself is never shown. */
type ApiKey = { readonly id: string; readonly projectId: string; readonly scopes: readonly Scope[] }

export type Service = ReturnType<typeof createService>

type ServiceParts = {
  readonly projects: ReadonlyMap<string, Project>
  readonly clock: () => EpochMs
  readonly switches: () => Switches
  readonly seed: number
}

export function createService({ projects, clock, switches, seed }: ServiceParts) {
  const random = createRandom(seed)
  const requestLog: RequestLogEntry[] = []
  let number = 0
  return {
    projects,
    clock,
    switches,
    random,
    requestLog,
    /** The valid keys by their secrets. */
    keys: new Map<string, ApiKey>(),
    keyLimits: createKeyLimits(switches),
    faults: createFaults(random, switches),
    /** The number of list requests of each project. */
    listRequestCounts: new Map<string, number>(),
    /** This machine's clock, which is never set back: rate limits and the request log use real time. */
    realNow: (): EpochMs => performance.timeOrigin + performance.now(),
    nextNumber: () => ++number,
  }
}

/** A request whose body has been read. `path` is relative to the base URL. */
type IncomingRequest = {
  readonly method: string
  readonly path: string
  /** Without its question mark. */
  readonly search: string
  readonly headers: IncomingHttpHeaders
  readonly bodyText: string
}

/** `respond` performs the operation. With the fault `reset-before` the service has not seen the request: do not call it. */
export type ReceivedRequest = {
  readonly requestId: string
  readonly entry: RequestLogEntry
  readonly fault: FaultKind | null
  readonly respond: () => ServiceResponse
}

export const widgetPath = '/v1/widget/token'

/** The operation of the widget's token, for the log and the faults; it has its own route. */
const widgetOperation: Operation = {
  id: 'mintWidgetToken',
  method: 'POST',
  path: widgetPath,
  scope: 'conversations:write',
  query: () => [],
  run: () => null,
}

/** `chooseFault`: by default the service's scripted or random ones. */
export function receiveRequest(
  service: Service,
  incoming: IncomingRequest,
  number: number,
  chooseFault = service.faults.nextFault,
): ReceivedRequest {
  const { method, path, search } = incoming
  const isWidget = method === 'POST' && path === widgetPath
  const match = isWidget ? { operation: widgetOperation, params: {} } : findRoute(method, path)
  const requestId = `req_${(service.random(purposes.token, number) >>> 0).toString(36)}${number.toString(36)}`
  const fault = match === undefined ? null : chooseFault(match.operation, number, path)
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
    fault,
  }
  service.requestLog.push(entry)
  return { requestId, entry, fault, respond: () => respond(service, match, incoming, fault, entry) }
}

function respond(
  service: Service,
  match: RouteMatch | undefined,
  incoming: IncomingRequest,
  fault: FaultKind | null,
  entry: RequestLogEntry,
): ServiceResponse {
  const s = service.switches()
  const { requestId } = entry
  const faulty = fault === null ? undefined : faultResponse(fault, requestId, s)
  try {
    if (match === undefined) throw notFound('path')
    if (match.operation === widgetOperation) return faulty ?? widgetResponse(service, incoming, entry)
    const project = authorize(service, match, incoming, entry)
    if (fault !== null && faulty !== undefined && !faultKinds[fault].done) return faulty
    const data = runOperation(service, project, match, incoming, requestId)
    const response = faulty ?? successResponse(data, requestId, isWrite(match.operation), s)
    const showsUpper = s['ids.letters'] === (isList(match.operation) ? 'upper-in-lists' : 'upper-by-id')
    return showsUpper ? withUpperIds(response) : response
  } catch (error) {
    if (error instanceof Problem) return problemResponse(error, requestId, s, service.clock())
    throw error
  }
}

/** Admits a request, or throws Problem: authenticates it, applies the rate limit, and checks its scope. */
function authorize(
  service: Service,
  { operation, params }: RouteMatch,
  { headers }: IncomingRequest,
  entry: RequestLogEntry,
): Project {
  const { 'x-api-key': header } = headers
  const key = admitKey(service, (Array.isArray(header) ? header[0] : header) ?? bearerToken(headers), entry)
  if (params.projectId !== undefined && key.projectId !== params.projectId.toLowerCase())
    throw new Problem('api_key_wrong_project', 'The API key belongs to a different project')
  if (!key.scopes.includes(operation.scope))
    throw new Problem('api_key_scope_missing', `The API key lacks the scope ${operation.scope}`)
  const project = service.projects.get(key.projectId)
  if (project === undefined) throw new Problem('api_key_invalid', 'The API key belongs to no project')
  return project
}

function bearerToken({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}

/** The key with this secret, within its rate limit. Throws Problem. */
function admitKey(service: Service, secret: string | undefined, entry: RequestLogEntry): ApiKey {
  if (secret === undefined || secret === '') throw new Problem('api_key_missing', 'Send an API key')
  const key = service.keys.get(secret)
  if (key === undefined) throw new Problem('api_key_invalid', 'The API key is unknown or revoked')
  entry.keyId = key.id
  service.keyLimits.countRequest(key.id, entry.write, entry.arrivedAt)
  return key
}

/** Performs the operation; returns the envelope's `data`. Throws Problem. */
function runOperation(
  service: Service,
  project: Project,
  { operation, params }: RouteMatch,
  { search, bodyText }: IncomingRequest,
  requestId: string,
): Json {
  const switches = service.switches()
  if (isList(operation)) mutateBeforeList(service, project)
  const query = new URLSearchParams(search)
  checkQuery(query, operation.query(switches), switches)
  const body = isWrite(operation) ? parseJsonBody(bodyText) : null
  const now = service.clock()
  const data = operation.run({ project, params, query, body, switches, now })
  if (isWrite(operation))
    project.ledger.push({ requestId, operation: operation.id, params, body: body as Json, at: now })
  return data
}

function parseJsonBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw validationProblem({ field: 'body', message: 'must be JSON' })
  }
}

function mutateBeforeList(service: Service, project: Project): void {
  const { 'move.every': every, 'move.kinds': kinds } = service.switches()
  if (every < 1) return
  const lists = (service.listRequestCounts.get(project.id) ?? 0) + 1
  service.listRequestCounts.set(project.id, lists)
  if (lists % every === 0) applyRandomMutations(project, 1, lists, parseMutationKinds(kinds))
}

const visitorFields = { email: 'string', name: 'string', company: 'string' } as const

/** A token for the session that the body describes. It needs a bearer key, and no scope. Throws Problem. */
function widgetResponse(service: Service, incoming: IncomingRequest, entry: RequestLogEntry): ServiceResponse {
  admitKey(service, bearerToken(incoming.headers), entry)
  const body = parseJsonBody(incoming.bodyText)
  const { visitor, ttl } = readBody(body, {}, { visitor: 'object', metadata: 'object', ttl: 'integer' })
  if (visitor !== undefined) readBody(visitor, {}, visitorFields)
  const seconds = typeof ttl === 'number' ? ttl : 600
  const draws = [1, 2, 3].map((part) => service.random(purposes.token, entry.number, part).toString(36))
  const token = `wgt_${draws.join('')}`
  const lifetime = { ttl: seconds, expiresAt: toTimestamp(service.clock() + seconds * 1000) }
  const [s, id] = [service.switches(), '7f0c5a52-6f0d-4f8e-9a56-0b3c1d2e4f60']
  if (s['token.answer'] === 'bare') return jsonResponse(200, JSON.stringify({ token, ...lifetime }))
  const shapes: Record<Exclude<Switches['token.answer'], 'bare'>, Json> = {
    token: { token, ...lifetime },
    access_token: { access_token: token, token_type: 'Bearer', expires_in: seconds },
    text: token,
    unnamed: { id, widget: { credential: token } },
    none: { id, queued: true },
  }
  return successResponse(shapes[s['token.answer']], entry.requestId, false, s)
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
  readonly fault: string | null
}

export function countRequests(entries: readonly RequestLogEntry[], windowMs: Ms = 60_000) {
  const writes = entries.filter(({ write }) => write)
  return {
    total: entries.length,
    byOperation: countBy(entries, (entry) => entry.operation ?? 'none'),
    byStatus: countBy(entries, (entry) => String(entry.status ?? 'none')),
    byFault: countBy(entries, (entry) => entry.fault),
    /** The most that arrived with one key in any window. */
    maxInWindow: { requests: mostInWindow(entries, windowMs), writes: mostInWindow(writes, windowMs) },
    firstAt: entries[0]?.arrivedAt ?? null,
    lastAt: entries.at(-1)?.arrivedAt ?? null,
  }
}

function countBy(entries: readonly RequestLogEntry[], nameOf: (entry: RequestLogEntry) => string | null) {
  const counts: Record<string, number> = {}
  for (const entry of entries) {
    const name = nameOf(entry)
    if (name !== null) counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

function mostInWindow(entries: readonly RequestLogEntry[], windowMs: Ms): number {
  const arrivals = new Map<string, { readonly times: EpochMs[]; oldest: number }>()
  let most = 0
  for (const { keyId, arrivedAt } of entries) {
    if (keyId === null) continue
    const key = arrivals.get(keyId) ?? { times: [], oldest: 0 }
    arrivals.set(keyId, key)
    key.times.push(arrivedAt)
    while ((key.times[key.oldest] ?? 0) <= arrivedAt - windowMs) key.oldest += 1
    most = Math.max(most, key.times.length - key.oldest)
  }
  return most
}
