/**
 * A second double of the service, written only from its documentation, that behaves unlike the
 * sandbox if it may.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { pushProject } from '../../src/app/push.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { secret } from '../../src/values/secret.ts'
import { configOf, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { addSendRecord, type RequestLine, singleItem, toRequest } from './outbox-fixture.ts'

export const ids = {
  project: '11111111-1111-4111-8111-111111111111',
  conversation: '0b6d6f3e-aaaa-4222-8333-444455556666',
  visitor: '9f8e7d6c-aaaa-4bbb-8ccc-ddddeeeeffff',
} as const

export type DoubleMessage = {
  readonly senderType: string
  readonly content: string
  readonly name: string
  readonly kind?: string
}
type StoredMessage = DoubleMessage & { readonly id: number; readonly ms: number }

export type Quirks = {
  /** The sender type of replies from the API. */
  readonly replySenderType: string
  readonly visitorSenderType: string
  /** How it stores the text of a reply. */
  readonly storedText: (content: string) => string
  /** The sender name that it shows. */
  readonly shownName: (senderName: string) => string
  readonly replyKind: string
  /** Appends replies to the last message, which keeps its id. */
  readonly appends: boolean
  /** How far in the future replies are dated. */
  readonly replyAheadMs: number
  /** How it stores a visitor's name or email. */
  readonly storedField: (text: string) => string
  /** How far the clock of conversations is ahead of that of messages. */
  readonly aheadMs: number
  /** Delay before new messages are listed. */
  readonly lagMs: number
  /** Latency of message lists. */
  readonly listMs: number
  /** Called when a message list is built, before it is returned. */
  readonly onListed: (nth: number, say: IndependentDouble['say']) => void
  /** Latency of writes after they are carried out. */
  readonly writeMs: number
  /** The response to a write; null for the default. `perform` carries out the write. */
  readonly write: (
    path: string,
    body: RequestLine,
    perform: () => void,
    nth: number,
  ) => WriteReply | null
}
/** `cut`: the connection is closed without a response. */
export type WriteReply = { readonly status?: number; readonly text?: string; readonly cut?: true }

const defaultQuirks: Quirks = {
  replySenderType: 'agent',
  visitorSenderType: 'visitor',
  storedText: (content) => content,
  shownName: (senderName) => senderName,
  storedField: (text) => text,
  replyKind: 'utterance',
  appends: false,
  replyAheadMs: 0,
  aheadMs: 0,
  lagMs: 0,
  listMs: 0,
  onListed: () => {},
  writeMs: 0,
  write: () => null,
}

export type IndependentDouble = {
  readonly baseUrl: string
  /** The writes that were carried out. */
  readonly done: () => readonly { readonly path: string; readonly body: RequestLine }[]
  /** The number of write requests, carried out or not. */
  readonly writes: () => number
  readonly say: (message: DoubleMessage) => void
  readonly visitor: { name: string | null; email: string | null }
  /** Runs changes by others after the next write. */
  readonly afterNext: (change: () => void) => void
}

export async function startIndependentDouble(
  quirks: Partial<Quirks> = {},
): Promise<IndependentDouble> {
  const q = { ...defaultQuirks, ...quirks }
  const messages: StoredMessage[] = []
  const done: { path: string; body: RequestLine }[] = []
  const visitor: IndependentDouble['visitor'] = { name: 'Vi', email: 'vi@example.com' }
  let handledAt: string | null = null
  let [nth, lists] = [0, 0]
  let afterwards = () => {}
  const say = (message: DoubleMessage, ms = Date.now()) =>
    void messages.push({ ...message, id: messages.length + 1, ms })
  // Some time ago, so that it precedes everything that is queued.
  say({ senderType: q.visitorSenderType, content: 'Hello?', name: 'Vi' }, Date.now() - 600_000)

  const reads = (path: string) => {
    if (path.endsWith('/messages'))
      return {
        items: messages.filter(({ ms }) => ms + q.lagMs <= Date.now()).map(toMessage),
        hasMore: false,
      }
    if (path.includes('/visitors/')) return { id: ids.visitor, projectId: ids.project, ...visitor }
    const last = messages.at(-1)
    return {
      id: ids.conversation,
      projectId: ids.project,
      visitorId: ids.visitor,
      status: 'open',
      origin: 'visitor_initiated',
      createdAt: toRfc3339(Date.now() - 600_000),
      lastMessageAt: toRfc3339((last?.ms ?? 0) + q.aheadMs),
      lastMessageSenderType: last?.senderType,
      handledAt,
      waitingSince: null,
      assignedAgentId: null,
    }
  }
  const write = (path: string, body: RequestLine) => () => {
    done.push({ path, body })
    if (path.endsWith('/messages')) {
      const content = q.storedText(String(body.content))
      const name = q.shownName(String(body.senderName))
      const last = q.appends ? messages.pop() : undefined
      if (last === undefined)
        say(
          { senderType: q.replySenderType, content, name, kind: q.replyKind },
          Date.now() + q.replyAheadMs,
        )
      else messages.push({ ...last, content: `${last.content}\n${content}` })
      handledAt = null
    } else if (path.endsWith('/handled'))
      handledAt = body.handled === true ? toRfc3339(Date.now()) : null
    else if (!path.endsWith('/notes'))
      for (const field of ['name', 'email'] as const)
        visitor[field] = body[field] === null ? null : q.storedField(String(body[field]))
  }
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '', 'http://x').pathname.toLowerCase()
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    const answer = (status: number, text: string) => void response.writeHead(status).end(text)
    if (request.method === 'GET') {
      const data = JSON.stringify({ data: reads(path), requestId: 'r' })
      if (path.endsWith('/messages')) {
        lists += 1
        q.onListed(lists, say)
      }
      return void setTimeout(() => answer(200, data), path.endsWith('/messages') ? q.listMs : 0)
    }
    const perform = write(path, JSON.parse(body))
    nth += 1
    const reply = q.write(path, JSON.parse(body), perform, nth)
    if (reply === null) perform()
    afterwards()
    afterwards = () => {}
    if (reply?.cut) return void request.socket.destroy()
    setTimeout(
      () =>
        answer(reply?.status ?? 200, reply?.text ?? JSON.stringify({ data: {}, requestId: 'w' })),
      q.writeMs,
    )
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done: () => done,
    writes: () => nth,
    say,
    visitor,
    afterNext: (change) => {
      afterwards = change
    },
  }
}

function toMessage({ id, senderType, content, name, kind = 'utterance', ms }: StoredMessage) {
  return {
    id,
    conversationId: ids.conversation,
    senderType,
    kind,
    content,
    senderDisplayName: name,
    createdAt: toRfc3339(ms),
  }
}

function toRfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '')
}

/** An outbox for the double, with an empty mirror. */
export async function createOutboxFor(
  double: IndependentDouble,
  database: 'sqlite' | 'postgres' = 'sqlite',
) {
  const instance = await databases.find(({ name }) => name === database)!.make()
  onTestFinished(() => instance.drop())
  addSendRecord(instance)
  const warehouse = await instance.open()
  const base = {
    projectId: ids.project,
    baseUrl: double.baseUrl,
    widgetUrl: double.baseUrl,
    key: 'svc_live_x',
  }
  const project = (over: Partial<ProjectConfig>) =>
    projectConfigOf(base as never, { verifyAfterMs: 60, ...over })
  const admin = createOutbox(warehouse.projectDb(ids.project))
  return {
    url: instance.url!,
    warehouse,
    admin,
    queue: async (...lines: readonly RequestLine[]) => {
      const enqueueOptions = {
        status: 'queued',
        batchId: null,
        createdBy: 'test',
        expiresAt: null,
      } as const
      const queued = await admin.enqueue(singleItem(lines.map(toRequest)), enqueueOptions)
      return 'ids' in queued ? queued.ids : []
    },
    push: (over: Partial<ProjectConfig> = {}) =>
      pushProject(configOf(instance.url!, project(over)), project(over), {
        signal: AbortSignal.timeout(20_000),
        onProgress: () => {},
        onBudget: () => {},
        log: pino({ level: 'silent' }),
        despiteFailures: true,
      }),
    all: () => admin.list({}, 1000),
    statuses: async () => (await admin.list({}, 1000)).map(({ status }) => status),
    key: secret,
  }
}

export const replyLine = (content: string): RequestLine => ({
  operation: 'message',
  conversation_id: ids.conversation,
  content,
  sender_name: 'Ann',
})
export const handledLine: RequestLine = {
  operation: 'handled',
  conversation_id: ids.conversation,
  handled: true,
}
