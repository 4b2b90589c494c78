/** What the service does with a request that has arrived completely, without network or waiting: logs it and performs it. */
import type { IncomingHttpHeaders } from 'node:http'
import type { EpochMs } from '../../core/time.ts'
import { isList, isWrite, type Operation, type RouteMatch } from '../api/operation.ts'
import { notFound, Problem } from '../api/problem.ts'
import { widgetPath } from '../api/widget.ts'
import { purposes } from '../seed/random.ts'
import { authorize, runOperation, runWidgetToken, type SandboxService, type ServiceRequest } from '../service.ts'
import { type FaultKind, type Faults, faultKinds } from './faults.ts'
import type { RequestLogEntry } from './request-log.ts'
import {
  bareResponse,
  faultResponse,
  problemResponse,
  type ServiceResponse,
  successResponse,
  withUpperIds,
} from './response.ts'

export type ServerContext = {
  readonly service: SandboxService
  readonly faults: Faults
  readonly findRoute: (method: string, path: string) => RouteMatch | undefined
  readonly requestLog: RequestLogEntry[]
  /** This machine's clock. */
  readonly realNow: () => EpochMs
  readonly nextNumber: () => number
}

/** The operation of the widget's token, for the log and the faults; it has its own route. */
const widgetOperation: Operation = {
  id: 'mintWidgetToken',
  method: 'POST',
  path: widgetPath,
  scope: 'conversations:write',
  run: () => null,
}

/** A request whose body has been read. `path` is relative to the base URL. */
export type IncomingRequest = {
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

/** `chooseFault`: by default the context's scripted or random ones. */
export function receiveRequest(
  context: ServerContext,
  incoming: IncomingRequest,
  number: number,
  chooseFault = context.faults.nextFault,
): ReceivedRequest {
  const { method, path, search, headers, bodyText } = incoming
  const match = matchRoute(context, method, path)
  const requestId = `req_${(context.service.random(purposes.token, number) >>> 0).toString(36)}${number.toString(36)}`
  const query = new URLSearchParams(search)
  const request: ServiceRequest = { requestId, number, arrivedAt: context.realNow(), headers, query, bodyText }
  const fault = match === undefined ? null : chooseFault(match.operation, number, path)
  const entry = logRequest(context, request, match, method, path, search, fault)
  return { requestId, entry, fault, respond: () => respond(context, match, request, fault, entry) }
}

function matchRoute(context: ServerContext, method: string, path: string): RouteMatch | undefined {
  if (method === 'POST' && path === widgetPath) return { operation: widgetOperation, params: {} }
  return context.findRoute(method, path)
}

function logRequest(
  context: ServerContext,
  { number, requestId, arrivedAt }: ServiceRequest,
  match: RouteMatch | undefined,
  method: string,
  path: string,
  query: string,
  fault: FaultKind | null,
): RequestLogEntry {
  const operation = match?.operation
  const write = operation !== undefined && isWrite(operation)
  const base = { number, requestId, arrivedAt, answeredAt: null, method, path, query }
  const entry: RequestLogEntry = { ...base, operation: operation?.id ?? null, write, keyId: null, status: null, fault }
  context.requestLog.push(entry)
  return entry
}

function respond(
  { service }: ServerContext,
  match: RouteMatch | undefined,
  request: ServiceRequest,
  fault: FaultKind | null,
  entry: RequestLogEntry,
): ServiceResponse {
  const s = service.switches()
  const { requestId } = request
  const faulty = fault === null ? undefined : faultResponse(fault, requestId, s)
  const onKey = (key: { readonly id: string }) => {
    entry.keyId = key.id
  }
  try {
    if (match === undefined) throw notFound('path')
    if (match.operation === widgetOperation) {
      if (faulty !== undefined) return faulty
      const data = runWidgetToken(service, request, onKey)
      return s['token.answer'] === 'bare' ? bareResponse(data) : successResponse(data, requestId, false, s)
    }
    const project = authorize(service, match, request, onKey)
    if (fault !== null && faulty !== undefined && !faultKinds[fault].done) return faulty
    const data = runOperation(service, project, match, request)
    const response = faulty ?? successResponse(data, requestId, isWrite(match.operation), s)
    const showsUpper = s['ids.letters'] === (isList(match.operation) ? 'upper-in-lists' : 'upper-by-id')
    return showsUpper ? withUpperIds(response) : response
  } catch (error) {
    if (error instanceof Problem) return problemResponse(error, requestId, s, service.clock())
    throw error
  }
}
