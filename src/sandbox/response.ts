/** Builds the service's responses and sends them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type Json, stringifyJson } from '../values/json.ts'
import type { Switches } from './switches.ts'

export type ServiceResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function jsonResponse(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): ServiceResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body,
  }
}

export function writeResponse(row: Json, requestId: string, s: Switches): ServiceResponse {
  const status = Number(s['writes.answer'])
  if (status === 204) return { status, headers: {}, body: '' }
  const id = typeof row === 'object' && row !== null && 'id' in row ? (row.id ?? null) : null
  const data = { row, id: { id }, nothing: {}, null: null }[s['writes.body']]
  return jsonResponse(status, stringifyJson({ data, requestId }))
}

export function withUpperIds(response: ServiceResponse): ServiceResponse {
  const uuid = /"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g
  return { ...response, body: response.body.replace(uuid, (id) => id.toUpperCase()) }
}

const compressions: Record<Switches['encoding.unasked'], (plain: Buffer) => Buffer> = {
  none: (plain) => plain,
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

export async function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ServiceResponse,
  fault: string | null,
  s: Switches,
): Promise<void> {
  if (fault === 'huge') {
    response.writeHead(200, answer.headers)
    return sendChunks(response, hugeBody(s['fault.hugeMb']))
  }
  const isAccepted = s.gzip && /\bgzip\b/.test(String(request.headers['accept-encoding']))
  const unasked = s['encoding.unasked']
  const wanted = unasked === 'none' && isAccepted ? 'gzip' : unasked
  const encoding = answer.body === '' ? 'none' : wanted
  const bytes = compressions[encoding](breakRows(Buffer.from(answer.body), s))
  const headers: Record<string, string> = { ...answer.headers }
  if (encoding !== 'none') headers['content-encoding'] = encoding
  if (answer.status !== 204) headers['content-length'] = String(bytes.length)
  response.writeHead(answer.status, headers)
  if (fault !== 'truncated') return void response.end(bytes)
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
}

function breakRows(body: Buffer, { 'rows.broken': ids, 'rows.brokenBy': by }: Switches): Buffer {
  return ids.split(/,(?=")/).reduce((whole, id) => breakRow(whole, id, by), body)
}

const breaks = { encoding: 0xff, quote: 0x22, brace: 0x7b } as const

function breakRow(body: Buffer, id: string, by: Switches['rows.brokenBy']): Buffer {
  const row = id === '' ? -1 : body.indexOf(id)
  const before = by === 'brace' ? id : 'At":"'
  const at = row === -1 ? -1 : body.indexOf(before, row)
  if (at === -1) return body
  const end = by === 'brace' ? at : at + before.length
  return Buffer.concat([body.subarray(0, end), Buffer.from([breaks[by]]), body.subarray(end)])
}

function* hugeBody(megabytes: number) {
  yield '{"data":{"items":['
  for (let sent = 0; sent < megabytes; sent += 1) yield Buffer.alloc(1 << 20, ' ')
  yield '],"hasMore":false}}'
}

/** No faster than the client reads. One that disconnects is no error. */
export async function sendChunks(
  response: ServerResponse,
  chunks: Iterable<string | Buffer>,
): Promise<void> {
  await pipeline(Readable.from(chunks), response).catch(() => response.destroy())
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
