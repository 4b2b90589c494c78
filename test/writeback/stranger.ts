/** Another double of the service, made from its documentation alone, that does what the sandbox does not: any server may. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { pushProject } from '../../src/compose/push.ts'
import type { ProjectConfig } from '../../src/config.ts'
import { secret } from '../../src/core/secret.ts'
import { configOf, projectOf } from '../mirror/mirroring.ts'
import { databases } from '../support/databases.ts'
import { type Line, once, wishOf } from './outgoing.ts'

export const ids = {
  project: '11111111-1111-4111-8111-111111111111',
  conversation: '0b6d6f3e-aaaa-4222-8333-444455556666',
  visitor: '9f8e7d6c-aaaa-4bbb-8ccc-ddddeeeeffff',
} as const

export type Said = {
  readonly senderType: string
  readonly content: string
  readonly name: string
  readonly kind?: string
}
type Kept = Said & { readonly id: number; readonly ms: number }

export type Quirks = {
  /** What the service calls the sender of a reply that came over the API. */
  readonly replySenderType: string
  readonly visitorSenderType: string
  /** How it keeps the text of a reply. */
  readonly kept: (content: string) => string
  /** Under which name it shows it. */
  readonly named: (senderName: string) => string
  readonly replyKind: string
  /** It adds replies to the last message, which keeps its id. */
  readonly appends: boolean
  /** So far ahead it dates replies. */
  readonly replyAheadMs: number
  /** How it keeps a visitor's name or address. */
  readonly keptField: (text: string) => string
  /** So far is the clock of the conversations ahead of that of the messages. */
  readonly aheadMs: number
  /** Messages show only so long after they were written. */
  readonly lagMs: number
  /** Every list of messages is answered so late. */
  readonly listMs: number
  /** Called once a list of messages was made, before it is answered. */
  readonly listed: (nth: number, say: Stranger['say']) => void
  /** Every write is answered so long after it was done. */
  readonly writeMs: number
  /** Answers a write; null = as usual. It is given what does the write. */
  readonly write: (path: string, body: Line, does: () => void, nth: number) => Reply | null
}
/** `cut`: the connection ends without an answer. */
export type Reply = { readonly status?: number; readonly text?: string; readonly cut?: true }

const usual: Quirks = {
  replySenderType: 'agent',
  visitorSenderType: 'visitor',
  kept: (content) => content,
  named: (senderName) => senderName,
  keptField: (text) => text,
  replyKind: 'utterance',
  appends: false,
  replyAheadMs: 0,
  aheadMs: 0,
  lagMs: 0,
  listMs: 0,
  listed: () => {},
  writeMs: 0,
  write: () => null,
}

export type Stranger = {
  readonly baseUrl: string
  /** The writes that it did. */
  readonly done: () => readonly { readonly path: string; readonly body: Line }[]
  /** The writes that it was asked for, done or not. */
  readonly writes: () => number
  readonly say: (said: Said) => void
  readonly visitor: { name: string | null; email: string | null }
  /** What others do once the next write was answered. */
  readonly afterNext: (others: () => void) => void
}

export async function startStranger(quirks: Partial<Quirks> = {}): Promise<Stranger> {
  const q = { ...usual, ...quirks }
  const kept: Kept[] = []
  const done: { path: string; body: Line }[] = []
  const visitor: Stranger['visitor'] = { name: 'Vi', email: 'vi@example.com' }
  let handledAt: string | null = null
  let [nth, lists] = [0, 0]
  let afterwards = () => {}
  const say = (said: Said, ms = Date.now()) => void kept.push({ ...said, id: kept.length + 1, ms })
  // Long ago, so that there is something before what is queued.
  say({ senderType: q.visitorSenderType, content: 'Hello?', name: 'Vi' }, Date.now() - 600_000)

  const reads = (path: string) => {
    if (path.endsWith('/messages'))
      return { items: kept.filter(({ ms }) => ms + q.lagMs <= Date.now()).map(toMessage), hasMore: false }
    if (path.includes('/visitors/')) return { id: ids.visitor, projectId: ids.project, ...visitor }
    const last = kept.at(-1)
    return {
      ...{
        id: ids.conversation,
        projectId: ids.project,
        visitorId: ids.visitor,
        status: 'open',
        origin: 'visitor_initiated',
      },
      ...{
        createdAt: rfc(Date.now() - 600_000),
        lastMessageAt: rfc((last?.ms ?? 0) + q.aheadMs),
        lastMessageSenderType: last?.senderType,
      },
      ...{ handledAt, waitingSince: null, assignedAgentId: null },
    }
  }
  const write = (path: string, body: Line) => () => {
    done.push({ path, body })
    if (path.endsWith('/messages')) {
      const content = q.kept(String(body.content))
      const name = q.named(String(body.senderName))
      const last = q.appends ? kept.pop() : undefined
      if (last === undefined)
        say({ senderType: q.replySenderType, content, name, kind: q.replyKind }, Date.now() + q.replyAheadMs)
      else kept.push({ ...last, content: `${last.content}\n${content}` })
      handledAt = null
    } else if (path.endsWith('/handled')) handledAt = body.handled === true ? rfc(Date.now()) : null
    else if (!path.endsWith('/notes'))
      for (const field of ['name', 'email'] as const)
        visitor[field] = body[field] === null ? null : q.keptField(String(body[field]))
  }
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '', 'http://x').pathname.toLowerCase()
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    const answer = (status: number, text: string) => void response.writeHead(status).end(text)
    if (request.method === 'GET') {
      const data = JSON.stringify({ data: reads(path), requestId: 'r' })
      if (path.endsWith('/messages')) {
        lists += 1
        q.listed(lists, say)
      }
      return void setTimeout(() => answer(200, data), path.endsWith('/messages') ? q.listMs : 0)
    }
    const does = write(path, JSON.parse(body))
    nth += 1
    const reply = q.write(path, JSON.parse(body), does, nth)
    if (reply === null) does()
    afterwards()
    afterwards = () => {}
    if (reply?.cut) return void request.socket.destroy()
    setTimeout(
      () => answer(reply?.status ?? 200, reply?.text ?? JSON.stringify({ data: null, requestId: 'w' })),
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
    afterNext: (others) => {
      afterwards = others
    },
  }
}

function toMessage({ id, senderType, content, name, kind = 'utterance', ms }: Kept) {
  return {
    id,
    conversationId: ids.conversation,
    senderType,
    kind,
    content,
    senderDisplayName: name,
    createdAt: rfc(ms),
  }
}

function rfc(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '')
}

/** A queue of write-backs to carry to it; no mirror has been made. */
export async function queueTo(stranger: Stranger, database: 'sqlite' | 'postgres' = 'sqlite') {
  const place = await databases.find(({ name }) => name === database)!.make()
  onTestFinished(() => place.drop())
  const warehouse = await place.open()
  const base = { projectId: ids.project, baseUrl: stranger.baseUrl, widgetUrl: stranger.baseUrl, key: 'svc_live_x' }
  const project = (over: Partial<ProjectConfig>) => projectOf(base as never, { verifyAfterMs: 60, ...over })
  const desk = warehouse.queueDesk(ids.project)
  return {
    url: place.url!,
    warehouse,
    desk,
    queue: async (...lines: readonly Line[]) => {
      const how = { status: 'queued', batchId: null, createdBy: 'test', expiresAt: null } as const
      const queued = await desk.enqueue(once(lines.map(wishOf)), how)
      return 'ids' in queued ? queued.ids : []
    },
    push: (over: Partial<ProjectConfig> = {}) =>
      pushProject(configOf(place.url!, project(over)), project(over), {
        signal: AbortSignal.timeout(20_000),
        onProgress: () => {},
        onBudget: () => {},
        log: pino({ level: 'silent' }),
        despiteFailures: true,
      }),
    all: () => desk.list({}, 1000),
    statuses: async () => (await desk.list({}, 1000)).map(({ status }) => status),
    key: secret,
  }
}

export const reply = (content: string): Line => ({
  operation: 'message',
  conversation_id: ids.conversation,
  content,
  sender_name: 'Ann',
})
export const handled: Line = { operation: 'handled', conversation_id: ids.conversation, handled: true }
