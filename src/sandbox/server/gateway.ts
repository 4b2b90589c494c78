/** The API over HTTP: one request from its arrival to its answer, faults and latency included, and into the journal. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { EpochMs, Ms } from '../../core/time.ts'
import { isWrite, type Match, type Operation } from '../api/operation.ts'
import { notFound, Problem } from '../api/problem.ts'
import { widgetPath } from '../api/widget.ts'
import { purposes, unit } from '../past/dice.ts'
import { admit, perform, performWidgetToken, type Request, type Service } from '../service.ts'
import { type Answer, failure, faultAnswer, send, success, withoutEnvelope } from './answer.ts'
import { type FaultKind, type Faults, faultKinds } from './faults.ts'
import type { JournalEntry } from './journal.ts'

export type Gateway = {
  readonly service: Service
  readonly faults: Faults
  readonly find: (method: string, path: string) => Match | undefined
  readonly journal: JournalEntry[]
  /** This machine's clock. */
  readonly real: () => EpochMs
  readonly nextNumber: () => number
}

/** The token's operation, for the journal and the faults; it has its own way in. */
const widgetOperation: Operation = {
  id: 'mintWidgetToken',
  method: 'POST',
  path: widgetPath,
  scope: 'conversations:write',
  query: () => [],
  run: () => null,
}

/** `path` is relative to the base URL. */
export async function serveApi(
  gateway: Gateway,
  path: string,
  search: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { service } = gateway
  const number = gateway.nextNumber()
  const match = matchOf(gateway, incoming.method ?? 'GET', path)
  const bodyText = incoming.method === 'GET' ? '' : await textOf(incoming)
  await delay(service, 'latency.before', number)
  const arrivedAt = gateway.real()
  const requestId = `req_${(service.dice(purposes.token, number) >>> 0).toString(36)}${number.toString(36)}`
  const request: Request = {
    requestId,
    number,
    arrivedAt,
    headers: incoming.headers,
    query: new URLSearchParams(search),
    bodyText,
  }
  const fault = match === undefined ? null : gateway.faults.next(match.operation, number)
  const entry = noted(gateway, request, match, incoming.method ?? 'GET', path, search, fault)
  response.once('close', () => {
    entry.answeredAt = gateway.real()
  })
  if (fault === 'reset-before') return cut(incoming)
  const answer = answerOf(gateway, match, request, fault, entry)
  await delay(service, 'latency.after', number)
  if (fault === 'slow') await pause(service.switches()['fault.slowMs'])
  if (fault === 'reset-after') return cut(incoming)
  entry.status = answer.status
  dated(response, service, number)
  response.setHeader('x-request-id', requestId)
  await send(incoming, response, answer, fault, service.switches())
}

function matchOf(gateway: Gateway, method: string, path: string): Match | undefined {
  if (method === 'POST' && path === widgetPath) return { operation: widgetOperation, params: {} }
  return gateway.find(method, path)
}

function noted(
  gateway: Gateway,
  { number, requestId, arrivedAt }: Request,
  match: Match | undefined,
  method: string,
  path: string,
  query: string,
  fault: FaultKind | null,
): JournalEntry {
  const operation = match?.operation
  const write = operation !== undefined && isWrite(operation)
  const named = { number, requestId, arrivedAt, answeredAt: null, method, path, query }
  const entry: JournalEntry = { ...named, operation: operation?.id ?? null, write, keyId: null, status: null, fault }
  gateway.journal.push(entry)
  return entry
}

function answerOf(
  { service }: Gateway,
  match: Match | undefined,
  request: Request,
  fault: FaultKind | null,
  entry: JournalEntry,
): Answer {
  const s = service.switches()
  const { requestId } = request
  const swallowed = fault === null ? undefined : faultAnswer(fault, requestId, s)
  const seen = (key: { readonly id: string }) => {
    entry.keyId = key.id
  }
  try {
    if (match === undefined) throw notFound('path')
    if (match.operation === widgetOperation) {
      if (swallowed !== undefined) return swallowed
      const data = performWidgetToken(service, request, seen)
      return s['token.answer'] === 'bare' ? withoutEnvelope(data, s) : success(data, requestId, false, s)
    }
    const project = admit(service, match, request, seen)
    if (fault !== null && swallowed !== undefined && !faultKinds[fault].done) return swallowed
    const data = perform(service, project, match, request)
    return swallowed ?? success(data, requestId, isWrite(match.operation), s)
  } catch (error) {
    if (error instanceof Problem) return failure(error, requestId, s, service.clock())
    throw error
  }
}

function dated(response: ServerResponse, service: Service, number: number): void {
  const { 'date.header': header, 'date.offset': offset } = service.switches()
  const off: Ms = {
    right: 0,
    ahead: 300_000,
    behind: -300_000,
    jumping: number % 2 === 0 ? 300_000 : -300_000,
    absent: 0,
  }[header]
  if (header === 'absent') response.sendDate = false
  else response.setHeader('date', new Date(service.clock() + off + offset * 1000).toUTCString())
}

function cut(incoming: IncomingMessage): void {
  incoming.socket.resetAndDestroy()
}

async function delay(service: Service, name: 'latency.before' | 'latency.after', number: number): Promise<void> {
  const s = service.switches()
  const usual: Ms = s[name]
  if (usual === 0) return
  const chance = unit(service.dice(purposes.latency, number, name === 'latency.before' ? 0 : 1))
  await pause(usual * (1 - s['latency.spread'] + 2 * s['latency.spread'] * chance))
}

const largestBody = 4 << 20

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= largestBody) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
