/** The service without its network: projects, keys, clock, limits, and the response to one request. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../core/row.ts'
import type { EpochMs } from '../core/time.ts'
import { isList, isWrite, type RouteMatch } from './api/operation.ts'
import { Problem, validationProblem } from './api/problem.ts'
import { checkQuery } from './api/read-request.ts'
import { mintToken } from './api/widget.ts'
import { type ApiKey, type ApiKeys, authenticate, bearerToken, requireProject, requireScope } from './keys.ts'
import type { Project } from './project.ts'
import { applyRandomMutations, parseMutationKinds } from './random-mutations.ts'
import { createRandom, type Random } from './seed/random.ts'
import { createKeyLimits } from './server/key-limits.ts'
import type { Switches } from './switches.ts'

export type SandboxService = {
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: ApiKeys
  readonly keyLimits: ReturnType<typeof createKeyLimits>
  readonly random: Random
  readonly clock: () => EpochMs
  readonly switches: () => Switches
  /** The number of list requests of each project. */
  readonly listRequestCounts: Map<string, number>
}

export type ServiceRequest = {
  readonly requestId: string
  readonly number: number
  /** By this machine's clock: the rate limits use real time. */
  readonly arrivedAt: EpochMs
  readonly headers: IncomingHttpHeaders
  readonly query: URLSearchParams
  readonly bodyText: string
}

export function createService(
  parts: Pick<SandboxService, 'projects' | 'clock' | 'switches'> & { seed: number },
): SandboxService {
  return {
    ...parts,
    keys: new Map(),
    keyLimits: createKeyLimits(parts.switches),
    random: createRandom(parts.seed),
    listRequestCounts: new Map(),
  }
}

/** Admits a request, or throws Problem: authenticates it, applies the rate limit, and checks its scope. */
export function authorize(
  service: SandboxService,
  match: RouteMatch,
  request: ServiceRequest,
  onKey: (key: ApiKey) => void,
): Project {
  const key = authenticate(request.headers, service.keys)
  onKey(key)
  service.keyLimits.countRequest(key.id, isWrite(match.operation), request.arrivedAt)
  if (match.params.projectId !== undefined) requireProject(key, match.params.projectId)
  requireScope(key, match.operation.scope)
  return projectOfKey(service, key)
}

/** Performs the operation; returns the envelope's `data`. Throws Problem. */
export function runOperation(
  service: SandboxService,
  project: Project,
  match: RouteMatch,
  request: ServiceRequest,
): Json {
  const { operation, params } = match
  const switches = service.switches()
  if (isList(operation)) mutateBeforeList(service, project)
  const { query = [] } = operation
  checkQuery(request.query, typeof query === 'function' ? query(switches) : query, switches)
  const body = isWrite(operation) ? parseJsonBody(request.bodyText) : null
  const now = service.clock()
  const data = operation.run({ project, params, query: request.query, body, switches, now })
  if (isWrite(operation)) {
    project.ledger.push({ requestId: request.requestId, operation: operation.id, params, body: body as Json, at: now })
  }
  return data
}

/** The widget's operation accepts a bearer key only, and needs no scope. Throws Problem. */
export function runWidgetToken(service: SandboxService, request: ServiceRequest, onKey: (key: ApiKey) => void): Json {
  const secret = bearerToken(request.headers.authorization)
  const key = authenticate(secret === undefined ? {} : { authorization: `Bearer ${secret}` }, service.keys)
  onKey(key)
  service.keyLimits.countRequest(key.id, true, request.arrivedAt)
  return mintToken(parseJsonBody(request.bodyText), service.random, request.number, service.clock(), service.switches())
}

function projectOfKey(service: SandboxService, key: ApiKey): Project {
  const project = service.projects.get(key.projectId)
  if (project === undefined) throw new Problem('api_key_invalid', 'The API key belongs to no project')
  return project
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
