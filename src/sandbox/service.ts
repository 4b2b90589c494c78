/** The service without its network: projects, keys, clock, limits, and the answer to one request. */
import type { IncomingHttpHeaders } from 'node:http'
import type { EpochMs } from '../core/time.ts'
import { checkQuery } from './api/ask.ts'
import type { Json } from './api/json.ts'
import { isList, isWrite, type Match } from './api/operation.ts'
import { invalid, Problem } from './api/problem.ts'
import { mintToken } from './api/widget.ts'
import { changeKinds, churn } from './churn.ts'
import { bearer, type Key, type KeyRing, keyOf, keyRing, requireProject, requireScope } from './keys.ts'
import { type Dice, diceFor } from './past/dice.ts'
import type { Project } from './project.ts'
import { type Allowance, allowanceOf } from './server/allowance.ts'
import type { Switches } from './switches.ts'

export type Service = {
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: KeyRing
  readonly allowance: Allowance
  readonly dice: Dice
  readonly clock: () => EpochMs
  readonly switches: () => Switches
  /** How many lists each project was asked for. */
  readonly listsAsked: Map<string, number>
}

export type Request = {
  readonly requestId: string
  readonly number: number
  /** By this machine's clock: the limits are kept in real time. */
  readonly arrivedAt: EpochMs
  readonly headers: IncomingHttpHeaders
  readonly query: URLSearchParams
  readonly bodyText: string
}

export function serviceOf(parts: Pick<Service, 'projects' | 'clock' | 'switches'> & { seed: number }): Service {
  return {
    ...parts,
    keys: keyRing(),
    allowance: allowanceOf(parts.switches),
    dice: diceFor(parts.seed),
    listsAsked: new Map(),
  }
}

/** Lets a request in, or throws Problem: who asks, how often, and whether they may. */
export function admit(service: Service, match: Match, request: Request, seen: (key: Key) => void): Project {
  const key = keyOf(request.headers, service.keys)
  seen(key)
  service.allowance.spend(key.id, isWrite(match.operation), request.arrivedAt)
  if (match.params.projectId !== undefined) requireProject(key, match.params.projectId)
  requireScope(key, match.operation.scope)
  return projectOf(service, key)
}

/** Does what was asked; answers the envelope's `data`. Throws Problem. */
export function perform(service: Service, project: Project, match: Match, request: Request): Json {
  const { operation, params } = match
  const switches = service.switches()
  if (isList(operation)) moveRows(service, project)
  checkQuery(request.query, operation.query(switches), switches)
  const body = isWrite(operation) ? parsed(request.bodyText) : null
  const now = service.clock()
  const data = operation.run({ project, params, query: request.query, body, switches, now })
  if (isWrite(operation)) {
    project.ledger.push({ requestId: request.requestId, operation: operation.id, params, body: body as Json, at: now })
  }
  return data
}

/** The widget's operation takes a bearer key only, and no scope. Throws Problem. */
export function performWidgetToken(service: Service, request: Request, seen: (key: Key) => void): Json {
  const secret = bearer(request.headers.authorization)
  const key = keyOf(secret === undefined ? {} : { authorization: `Bearer ${secret}` }, service.keys)
  seen(key)
  service.allowance.spend(key.id, true, request.arrivedAt)
  return mintToken(parsed(request.bodyText), service.dice, request.number, service.clock(), service.switches())
}

function projectOf(service: Service, key: Key): Project {
  const project = service.projects.get(key.projectId)
  if (project === undefined) throw new Problem('api_key_invalid', 'The API key belongs to no project')
  return project
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid({ field: 'body', message: 'must be JSON' })
  }
}

function moveRows(service: Service, project: Project): void {
  const { 'move.every': every, 'move.kinds': kinds } = service.switches()
  if (every < 1) return
  const lists = (service.listsAsked.get(project.id) ?? 0) + 1
  service.listsAsked.set(project.id, lists)
  if (lists % every === 0) churn(project.state, project.mutate, 1, lists, changeKinds(kinds))
}
