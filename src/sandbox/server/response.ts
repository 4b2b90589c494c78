/** Builds the service's responses, applies faults to them, and sends them. */

import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { stringifyJson } from '../../core/json.ts'
import type { Json } from '../../core/row.ts'
import type { EpochMs } from '../../core/time.ts'
import { type Problem, problemBody, statusOf } from '../api/problem.ts'
import type { Switches } from '../switches.ts'
import type { FaultKind } from './faults.ts'

export type ServiceResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function jsonResponse(status: number, body: string, headers: Record<string, string> = {}): ServiceResponse {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body }
}

export function successResponse(data: Json, requestId: string, write: boolean, s: Switches): ServiceResponse {
  const status = write ? Number(s['writes.answer']) : 200
  if (status === 204) return { status, headers: {}, body: '' }
  const responseData = write ? writeResponseData(data, s) : data
  return jsonResponse(status, stringifyJson({ data: responseData, requestId }))
}

function writeResponseData(row: Json, s: Switches): Json {
  const id = typeof row === 'object' && row !== null && 'id' in row ? (row.id ?? null) : null
  return { row, id: { id }, nothing: {}, null: null }[s['writes.body']]
}

/** The response with every UUID in capital letters. */
export function withUpperIds(response: ServiceResponse): ServiceResponse {
  return {
    ...response,
    body: response.body.replace(/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g, (id) => id.toUpperCase()),
  }
}

/** The response of a service without an envelope. */
export function bareResponse(data: Json): ServiceResponse {
  return jsonResponse(200, stringifyJson(data))
}

export function problemResponse(problem: Problem, requestId: string, s: Switches, now: EpochMs): ServiceResponse {
  const status = statusOf(problem, s)
  const headers = {
    ...(problem.retryAfterMs === null ? {} : retryAfterHeader(problem.retryAfterMs, s, now)),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  }
  return jsonResponse(status, JSON.stringify(problemBody(problem, requestId, s)), headers)
}

function retryAfterHeader(waitMs: number, s: Switches, now: EpochMs): Record<string, string> {
  const form = s['rate.retryAfter']
  if (form === 'absent') return {}
  // Rounded up, so that an obedient client is never too early.
  if (form === 'seconds') return { 'retry-after': String(Math.ceil(waitMs / 1000)) }
  return { 'retry-after': new Date(Math.ceil((now + waitMs) / 1000) * 1000).toUTCString() }
}

/** The response that replaces the real one; undefined if the fault keeps it. */
export function faultResponse(kind: FaultKind, requestId: string, s: Switches): ServiceResponse | undefined {
  const gateway = (status: number, title: string): ServiceResponse => ({
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: `<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>`,
  })
  const envelope = (status: number, code: string, headers: Record<string, string> = {}): ServiceResponse => {
    const error = { code, message: 'Something went wrong', status, retryable: true }
    return jsonResponse(status, JSON.stringify({ error, requestId }), headers)
  }
  if (kind === 'error-500' || kind === 'error-500-after') return envelope(500, 'INTERNAL_ERROR')
  if (kind === 'html-502' || kind === 'html-502-after') return gateway(502, 'Bad Gateway')
  if (kind === 'busy-503') return envelope(503, 'SERVICE_UNAVAILABLE')
  if (kind === 'busy-503-retry-after') return envelope(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' })
  if (kind === 'foreign-429' || kind === 'foreign-429-after')
    return envelope(429, 'rate_limited', { 'retry-after': '1' })
  if (kind === 'not-json') return gateway(200, 'Please log in')
  if (kind === 'status' || kind === 'status-after') return statusResponse(s['fault.status'], requestId)
  if (kind === 'says-failed' || kind === 'says-failed-after')
    return jsonResponse(200, JSON.stringify({ ...failureBodies[s['fault.says']], requestId }))
  if (kind === 'redirect') return { status: 302, headers: { location: '/elsewhere' }, body: '' }
  return undefined
}

function statusResponse(status: number, requestId: string): ServiceResponse {
  const error = { code: 'ODD', message: 'Something is odd', status, retryable: false }
  const body = JSON.stringify(status < 300 ? { data: null, requestId } : { error, requestId })
  return jsonResponse(status, body, status >= 300 && status < 400 ? { location: '/elsewhere' } : {})
}

/** Bodies that report a failure with status 200. */
const failureBodies: Record<Switches['fault.says'], Record<string, Json>> = {
  ok: { ok: false, data: null },
  success: { success: false, message: 'It could not be sent' },
  errors: { data: null, errors: [{ message: 'It could not be sent' }] },
  error: { error: 'It could not be sent' },
  code: { error: { code: 'VALIDATION_ERROR', message: 'It could not be sent', status: 400, retryable: false } },
  data: { data: { success: false } },
  word: { status: 'error', message: 'It could not be sent' },
}

/** Sends the response, changed by the fault. Resolves when it is sent or the connection is closed. */
export async function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ServiceResponse,
  fault: FaultKind | null,
  s: Switches,
): Promise<void> {
  const isGzipped = s.gzip && /\bgzip\b/.test(String(request.headers['accept-encoding'])) && answer.body !== ''
  const plain = Buffer.from(answer.body)
  const bytes = isGzipped ? gzipSync(plain) : plain
  const headers: Record<string, string> = { ...answer.headers, ...(isGzipped ? { 'content-encoding': 'gzip' } : {}) }
  if (fault === 'huge') return sendHuge(response, answer, s['fault.hugeMb'])
  if (answer.status !== 204) headers['content-length'] = String(bytes.length)
  response.writeHead(answer.status, headers)
  if (fault !== 'truncated') return void response.end(bytes)
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
}

async function sendHuge(response: ServerResponse, answer: ServiceResponse, megabytes: number): Promise<void> {
  response.writeHead(200, answer.headers)
  response.write('{"data":{"items":[')
  const chunk = Buffer.alloc(1 << 20, ' ')
  const closed = once(response, 'close')
  for (let sent = 0; sent < megabytes && !response.destroyed; sent += 1) {
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed])
  }
  response.end('],"hasMore":false}}')
}
