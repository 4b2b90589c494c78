/** The API over HTTP: handles one request from arrival to response, with faults and latency, and logs it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { EpochMs, Ms } from '../../core/time.ts'
import { isWrite, type Operation, type RouteMatch } from '../api/operation.ts'
import { notFound, Problem } from '../api/problem.ts'
import { widgetPath } from '../api/widget.ts'
import { purposes, toUnitInterval } from '../seed/random.ts'
import { authorize, runOperation, runWidgetToken, type SandboxService, type ServiceRequest } from '../service.ts'
import { type FaultKind, type Faults, faultKinds } from './faults.ts'
import type { RequestLogEntry } from './request-log.ts'
import {
  bareResponse,
  faultResponse,
  problemResponse,
  type ServiceResponse,
  sendResponse,
  successResponse,
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

/** `path` is relative to the base URL. */
export async function handleRequest(
  context: ServerContext,
  path: string,
  search: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { service } = context
  const number = context.nextNumber()
  const match = matchRoute(context, incoming.method ?? 'GET', path)
  const bodyText = incoming.method === 'GET' ? '' : await readBodyText(incoming)
  await simulateLatency(service, 'latency.before', number)
  const arrivedAt = context.realNow()
  const requestId = `req_${(service.random(purposes.token, number) >>> 0).toString(36)}${number.toString(36)}`
  const request: ServiceRequest = {
    requestId,
    number,
    arrivedAt,
    headers: incoming.headers,
    query: new URLSearchParams(search),
    bodyText,
  }
  const fault = match === undefined ? null : context.faults.nextFault(match.operation, number)
  const entry = logRequest(context, request, match, incoming.method ?? 'GET', path, search, fault)
  response.once('close', () => {
    entry.answeredAt = context.realNow()
  })
  if (fault === 'reset-before') return void incoming.socket.resetAndDestroy()
  const result = respond(context, match, request, fault, entry)
  await simulateLatency(service, 'latency.after', number)
  if (fault === 'slow') await pause(service.switches()['fault.slowMs'])
  if (fault === 'reset-after') return void incoming.socket.resetAndDestroy()
  entry.status = result.status
  setDateHeader(response, service, number)
  response.setHeader('x-request-id', requestId)
  await sendResponse(incoming, response, result, fault, service.switches())
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
    return faulty ?? successResponse(data, requestId, isWrite(match.operation), s)
  } catch (error) {
    if (error instanceof Problem) return problemResponse(error, requestId, s, service.clock())
    throw error
  }
}

function setDateHeader(response: ServerResponse, service: SandboxService, number: number): void {
  const { 'date.header': header, 'date.offset': offset } = service.switches()
  const [fiveMinutes, isEven]: [Ms, boolean] = [300_000, number % 2 === 0]
  const jump = isEven ? fiveMinutes : -fiveMinutes
  const off: Ms = { right: 0, ahead: fiveMinutes, behind: -fiveMinutes, jumping: jump, absent: 0 }[header]
  if (header === 'absent') response.sendDate = false
  else response.setHeader('date', new Date(service.clock() + off + offset * 1000).toUTCString())
}

async function simulateLatency(
  service: SandboxService,
  name: 'latency.before' | 'latency.after',
  number: number,
): Promise<void> {
  const s = service.switches()
  const usual: Ms = s[name]
  if (usual === 0) return
  const chance = toUnitInterval(service.random(purposes.latency, number, name === 'latency.before' ? 0 : 1))
  await pause(usual * (1 - s['latency.spread'] + 2 * s['latency.spread'] * chance))
}

const maxBodyBytes = 4 << 20

async function readBodyText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= maxBodyBytes) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
