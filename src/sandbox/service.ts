/** The service without its network: projects, keys, clock, limits, and the answer to one request. */
import type { IncomingHttpHeaders } from 'node:http'
import type { EpochMs } from '../core/time.ts'
import { checkQuery } from './api/read-request.ts'
import type { Json } from './api/json.ts'
import { isList, isWrite, type RouteMatch } from './api/operation.ts'
import { validationProblem, Problem } from './api/problem.ts'
import { mintToken } from './api/widget.ts'
import { parseMutationKinds, applyRandomMutations } from './random-mutations.ts'
import { bearerToken, type ApiKey, type ApiKeyStore, authenticate, createApiKeyStore, requireProject, requireScope } from './keys.ts'
import { type Random, createRandom } from './seed/random.ts'
import type { Project } from './project.ts'
import { type KeyLimits, createKeyLimits } from './server/key-limits.ts'
import type { Switches } from './switches.ts'

export type SandboxService = {
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: ApiKeyStore
  readonly keyLimits: KeyLimits
  readonly random: Random
  readonly clock: () => EpochMs
  readonly switches: () => Switches
  /** How many lists each project was asked for. */
  readonly listRequestCounts: Map<string, number>
}

export type ServiceRequest = {
  readonly requestId: string
  readonly number: number
  /** By this machine's clock: the limits are kept in real time. */
  readonly arrivedAt: EpochMs
  readonly headers: IncomingHttpHeaders
  readonly query: URLSearchParams
  readonly bodyText: string
}

export function createService(parts: Pick<SandboxService, 'projects' | 'clock' | 'switches'> & { seed: number }): SandboxService {
  return {
    ...parts,
    keys: createApiKeyStore(),
    keyLimits: createKeyLimits(parts.switches),
    random: createRandom(parts.seed),
    listRequestCounts: new Map(),
  }
}

/** Lets a request in, or throws Problem: who asks, how often, and whether they may. */
export function authorize(service: SandboxService, match: RouteMatch, request: ServiceRequest, onKey: (key: ApiKey) => void): Project {
  const key = authenticate(request.headers, service.keys)
  onKey(key)
  service.keyLimits.countRequest(key.id, isWrite(match.operation), request.arrivedAt)
  if (match.params.projectId !== undefined) requireProject(key, match.params.projectId)
  requireScope(key, match.operation.scope)
  return projectOfKey(service, key)
}

/** Does what was asked; answers the envelope's `data`. Throws Problem. */
export function runOperation(service: SandboxService, project: Project, match: RouteMatch, request: ServiceRequest): Json {
  const { operation, params } = match
  const switches = service.switches()
  if (isList(operation)) mutateBeforeList(service, project)
  checkQuery(request.query, operation.query(switches), switches)
  const body = isWrite(operation) ? parseJsonBody(request.bodyText) : null
  const now = service.clock()
  const data = operation.run({ project, params, query: request.query, body, switches, now })
  if (isWrite(operation)) {
    project.ledger.push({ requestId: request.requestId, operation: operation.id, params, body: body as Json, at: now })
  }
  return data
}

/** The widget's operation takes a bearer key only, and no scope. Throws Problem. */
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
  if (lists % every === 0) applyRandomMutations(project.state, project.mutate, 1, lists, parseMutationKinds(kinds))
}
