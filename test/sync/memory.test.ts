/** What a single answer takes at the most: a process of its own reads it, and the kernel says what it took. */
import { execFile } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SyncReport } from '../../src/core/report.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'

const script = fileURLToPath(new URL('one-answer.ts', import.meta.url))
const project = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
const at = '2026-01-01T00:00:00Z'

type Body = Iterable<string>

/** A service with one visitor and one conversation; `answers` by the end of a path. */
async function startService(answers: Readonly<Record<string, () => Body>>): Promise<string> {
  const list = (rows: string) => [`{"data":{"items":[${rows}],"hasMore":false},"requestId":"r"}`]
  const usual: Readonly<Record<string, () => Body>> = {
    conversations: () => list(`{"id":"c1","projectId":"${project}","createdAt":"${at}","lastMessageAt":"${at}"}`),
  }
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '/', 'http://x').pathname.split('/').at(-1) ?? ''
    send(response, (answers[name] ?? usual[name] ?? (() => list('')))())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

async function send(response: ServerResponse, body: Body): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
  const gzip = createGzip({ level: 1 })
  gzip.pipe(response)
  for (const text of body) {
    if (!gzip.write(text)) await new Promise((resolve) => gzip.once('drain', resolve))
  }
  gzip.end()
}

async function read(place: DatabaseInstance, answers: Readonly<Record<string, () => Body>>, streams: string) {
  const url = await startService(answers)
  const { stdout } = await promisify(execFile)(process.execPath, [script, place.url!, url, streams])
  return JSON.parse(stdout) as SyncReport & { peakMb: number }
}

/** `{"data":{"items":[`, that often `row`, and the end. */
function* rows(count: number, row: (i: number) => string): Generator<string> {
  yield '{"data":{"items":['
  for (let i = 0; i < count; i += 1000) {
    const some = Array.from({ length: Math.min(1000, count - i) }, (_, k) => row(i + k))
    yield (i === 0 ? '' : ',') + some.join()
  }
  yield '],"hasMore":false},"requestId":"r"}'
}

const mostMb = 300
const message = (i: number) =>
  `{"id":${i + 1},"conversationId":"c1","senderType":"agent","kind":"utterance","content":"Hello ${i}","senderDisplayName":"Bo","createdAt":"${at}"}`
const visitor = (i: number, more: string) => `{"id":"v${i}","createdAt":"${at}",${more}}`

for (const db of databases.filter(({ name }) => name !== 'pglite')) {
  describe(`a single answer takes less than ${mostMb} MB — ${db.name}`, () => {
    const measured = async (answers: Readonly<Record<string, () => Body>>, streams: string) => {
      const place = await db.make()
      try {
        const found = await read(place, answers, streams)
        const warehouse = await place.open()
        const [stored] = await warehouse.query(
          'select (select count(*) from messages) as messages, (select count(*) from visitors) as visitors',
        )
        return { ...found, stored: { messages: Number(stored!.messages), visitors: Number(stored!.visitors) } }
      } finally {
        await place.drop()
      }
    }

    test('a conversation of 130,000 messages that come at once is stored whole', async () => {
      const found = await measured({ messages: () => rows(130_000, message) }, 'conversations,messages')
      expect(found.peakMb).toBeLessThan(mostMb)
      expect(found).toMatchObject({ outcome: 'complete', stored: { messages: 130_000 } })
    })

    test('twenty million empty rows, and rows as long as they may be', async () => {
      const bomb = await measured({ visitors: () => rows(20_000_000, () => '{}') }, 'visitors')
      expect(bomb.peakMb).toBeLessThan(mostMb)
      expect(bomb.streams[0]!.failed).toMatch(/a list of more than 150000 rows/)
      const long = () => rows(9, (i) => visitor(i, `"text":"${'é'.repeat(2_000_000)}"`))
      const wide = await measured({ visitors: long }, 'visitors')
      expect(wide.peakMb).toBeLessThan(mostMb)
      expect(wide).toMatchObject({ outcome: 'complete', stored: { visitors: 9 } })
    })
  })
}
