/** Builds the service's responses and sends them. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Json } from '../values/json.ts'
import { stringifyJson } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import { type Problem, problemBody, statusOf } from './problem.ts'
import type { Switches } from './switches.ts'

export type ServiceResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function jsonResponse(status: number, body: string, headers: Record<string, string> = {}): ServiceResponse {
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
  const uuid = /"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g
  return { ...response, body: response.body.replace(uuid, (id) => id.toUpperCase()) }
}

export function problemResponse(problem: Problem, requestId: string, s: Switches, now: EpochMs): ServiceResponse {
  const status = statusOf(problem, s)
  const { retryAfterMs } = problem.details
  const headers = {
    ...(retryAfterMs === undefined ? {} : retryAfterHeader(retryAfterMs, s, now)),
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

/** Sends the response, changed by the fault. */
export async function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ServiceResponse,
  fault: string | null,
  s: Switches,
): Promise<void> {
  if (fault === 'huge') return sendHuge(response, answer, s['fault.hugeMb'])
  const isGzipped = s.gzip && /\bgzip\b/.test(String(request.headers['accept-encoding'])) && answer.body !== ''
  const plain = Buffer.from(answer.body)
  const bytes = isGzipped ? gzipSync(plain) : plain
  const headers: Record<string, string> = { ...answer.headers, ...(isGzipped ? { 'content-encoding': 'gzip' } : {}) }
  if (answer.status !== 204) headers['content-length'] = String(bytes.length)
  response.writeHead(answer.status, headers)
  if (fault !== 'truncated') return void response.end(bytes)
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
}

async function sendHuge(response: ServerResponse, answer: ServiceResponse, megabytes: number): Promise<void> {
  response.writeHead(200, answer.headers)
  response.write('{"data":{"items":[')
  const chunk = Buffer.alloc(1 << 20, ' ')
  for (let sent = 0; sent < megabytes && !response.destroyed; sent += 1) await writeChunk(response, chunk)
  response.end('],"hasMore":false}}')
}

/** Resolves when the chunk is sent, or the connection is closed. */
export async function writeChunk(response: ServerResponse, chunk: Buffer | string): Promise<void> {
  if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')])
}

/** The body of a request, of which the service reads no more than 4 MB. */
export async function readBodyText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= 4 << 20) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
