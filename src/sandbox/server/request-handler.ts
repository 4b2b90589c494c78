/** The API over HTTP: handles one request from arrival to response, with faults and latency. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Ms } from '../../core/time.ts'
import { purposes, toUnitInterval } from '../seed/random.ts'
import type { SandboxService } from '../service.ts'
import { receiveRequest, type ServerContext } from './receive-request.ts'
import { sendResponse } from './response.ts'

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
  const { method = 'GET', headers } = incoming
  const bodyText = method === 'GET' ? '' : await readBodyText(incoming)
  await simulateLatency(service, 'latency.before', number)
  const received = receiveRequest(context, { method, path, search, headers, bodyText }, number)
  const { entry, fault, requestId } = received
  response.once('close', () => {
    entry.answeredAt = context.realNow()
  })
  if (fault === 'reset-before') return void incoming.socket.resetAndDestroy()
  const result = received.respond()
  await simulateLatency(service, 'latency.after', number)
  if (fault === 'slow') await pause(service.switches()['fault.slowMs'])
  if (fault === 'reset-after') return void incoming.socket.resetAndDestroy()
  entry.status = result.status
  setDateHeader(response, service, number)
  response.setHeader('x-request-id', requestId)
  await sendResponse(incoming, response, result, fault, service.switches())
}

function setDateHeader(response: ServerResponse, service: SandboxService, number: number): void {
  const date = dateHeader(service, number)
  if (date === null) response.sendDate = false
  else response.setHeader('date', date)
}

/** The `Date` header of a response; null: it has none. */
export function dateHeader(service: SandboxService, number: number): string | null {
  const { 'date.header': header, 'date.offset': offset } = service.switches()
  const [fiveMinutes, isEven]: [Ms, boolean] = [300_000, number % 2 === 0]
  const jump = isEven ? fiveMinutes : -fiveMinutes
  const off: Ms = { right: 0, ahead: fiveMinutes, behind: -fiveMinutes, jumping: jump, absent: 0 }[header]
  return header === 'absent' ? null : new Date(service.clock() + off + offset * 1000).toUTCString()
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
