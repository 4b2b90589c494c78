/** Hostile answers: each is read in bounded memory and time, or is a failure that says why. */
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { ApiResponse } from '../../src/service/core/api-request.ts'
import type { Json } from '../../src/values/json.ts'
import {
  createTestClient,
  errorOf,
  failureOf,
  jsonAnswer,
  type RequestHandler,
  readCall,
  startTestService,
} from './test-service.ts'

const send = (body: Buffer, headers: Record<string, string> = {}): RequestHandler => {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}
const list = (rows: string) =>
  Buffer.from(`{"data":{"items":[${rows}],"hasMore":true},"requestId":"r"}`)

async function read(answer: RequestHandler): Promise<ApiResponse> {
  return createTestClient((await startTestService(answer)).url).send(readCall)
}

function rowsOf({ items }: ApiResponse): { built: Json[]; rejectedRows: unknown[] } {
  const batches = [...(items?.batches() ?? [])]
  const built = batches.flatMap((batch) => [...batch.items])
  return { built, rejectedRows: batches.flatMap((batch) => [...batch.rejectedRows]) }
}

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('a row that is too large is left out of its page and reported with its id', () => {
  test.for<[string, string, string]>([
    ['nested', deep(100_000), 'it is nested more than 1000 levels deep'],
    ['many values', `[${'0,'.repeat(200_000)}0]`, 'it has more than 100000 values'],
    ['a long string', `"${'x'.repeat(9 << 20)}"`, 'it is longer than 4194304 bytes'],
  ])('%s', async ([, value, why]) => {
    const largeRow = `{"id":"b","name":"B, [x] \\"{","more":${value},"last":1}`
    const answer = await read(send(list(`{"id":"a"},${largeRow} , {"id":"c"}`)))
    expect(answer).toMatchObject({ data: { hasMore: true }, requestId: 'r' })
    expect(rowsOf(answer)).toEqual({
      built: [{ id: 'a' }, { id: 'c' }],
      rejectedRows: [{ id: 'b', why }],
    })
  })

  test('also if it is larger than the limit of a response, compressed or not', async () => {
    const body = list(`{"id":1},{"id":2,"more":"${'x'.repeat(44 << 20)}"},{"id":3}`)
    for (const answer of [
      send(body),
      send(gzipSync(body, { level: 1 }), { 'content-encoding': 'gzip' }),
    ]) {
      const { built, rejectedRows } = rowsOf(await read(answer))
      expect(built).toEqual([{ id: 1 }, { id: 3 }])
      expect(rejectedRows).toEqual([{ id: '2', why: 'it is longer than 4194304 bytes' }])
    }
  })
})

test('chunks of any size make the same answer', async () => {
  const body = list(
    `{"id":"a","x":"\\\\\\"],"},{"id":"b","more":${deep(1001)}},["é", 1],null,"s",{"id":"c","items":[1]}`,
  )
  for (const size of [1, 2, 3, 7, 64]) {
    const answer = await read(async (_request, response) => {
      response.writeHead(200)
      response.socket?.setNoDelay(true)
      for (let at = 0; at < body.length; at += size) response.write(body.subarray(at, at + size))
      response.end()
    })
    expect(rowsOf(answer)).toEqual({
      built: [{ id: 'a', x: '\\"],' }, ['é', 1], null, 's', { id: 'c', items: [1] }],
      rejectedRows: [{ id: 'b', why: 'it is nested more than 1000 levels deep' }],
    })
  }
})

test.for([
  ['a trailing comma', '1,'],
  ['rows without a comma', '{"id":1}{"id":2}'],
  ['half a row', '{"id":1},{"id"'],
])('a list that is not JSON is a failure: %s', async ([, rows]) => {
  expect(await failureOf(read(send(list(rows!))))).toMatchObject({
    kind: 'transient',
    mayHaveBeenSent: true,
  })
})

test.for<[string, string]>([
  ['nested', `{"data":{"x":${deep(50_000)}}}`],
  ['of many values', `{"data":{"x":[${'0,'.repeat(150_000)}0]}}`],
  ['with a request id of 50 MB', `{"data":{"id":1},"requestId":"${'x'.repeat(50 << 20)}"}`],
])('a response without a list that is %s is refused, and not retried', async ([, body]) => {
  const service = await startTestService(send(Buffer.from(body)))
  const error = await errorOf(createTestClient(service.url).get('/thing', {}, 'fresh'))
  expect(error.failure).toMatchObject({ kind: 'refused', status: 200 })
  expect(service.requestCount()).toBe(1)
})

test('twenty million rows are refused', async () => {
  const bomb = gzipSync(list(`${'{},'.repeat(20_000_000)}{}`), { level: 1 })
  const failure = await failureOf(read(send(bomb, { 'content-encoding': 'gzip' })))
  expect(failure).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('a list of more than 150000 rows'),
  })
})

test('a very slow answer is aborted long before its deadline', async () => {
  const service = await startTestService(async (_request, response) => {
    response.writeHead(200)
    while (!response.destroyed) {
      response.write(' ')
      await pause(2)
    }
  })
  const failure = await failureOf(createTestClient(service.url, { stallMs: 100 }).send(readCall))
  const why = expect.stringContaining('came too slowly')
  expect(failure).toMatchObject({ kind: 'transient', mayHaveBeenSent: true, why })
})

test('an encoding named like a member of every object is unknown', async () => {
  const failure = await failureOf(
    read(jsonAnswer(200, { data: {} }, { 'content-encoding': 'constructor' })),
  )
  expect(failure).toMatchObject({
    kind: 'transient',
    why: expect.stringContaining('unknown encoding'),
  })
})
