/** A sandbox, a mirror of it, and a queue of write-backs to carry to it, with real parts. */
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { pushProject } from '../../src/compose/push.ts'
import type { ProjectConfig } from '../../src/config.ts'
import type { QueueEntry } from '../../src/core/outbox/desk.ts'
import { readWish, type Wish } from '../../src/core/outbox/wish.ts'
import type { PushReport } from '../../src/core/report.ts'
import { secret } from '../../src/core/secret.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { configOf, projectOf, syncOnce } from '../mirror/mirroring.ts'
import { databases, type Place } from '../support/databases.ts'

export type Outgoing = {
  readonly place: Place
  readonly sandbox: Sandbox
  readonly warehouse: Warehouse
  /** The n-th conversation and visitor of the service. */
  readonly conversation: (n: number) => string
  readonly visitor: (n: number) => string
  readonly conversations: () => readonly string[]
  readonly visitors: () => readonly string[]
  /** Queues lines as an import would say them; gives back the ids. */
  readonly queue: (...lines: readonly Line[]) => Promise<readonly string[]>
  readonly push: (over?: Partial<ProjectConfig> & { readonly despiteFailures?: boolean }) => Promise<PushReport>
  readonly all: () => Promise<readonly QueueEntry[]>
  readonly secret: typeof secret
  /** Of all write-backs, in order. */
  readonly statuses: () => Promise<readonly string[]>
}

export type Line = Readonly<Record<string, unknown>>

export type OutgoingOptions = SandboxOptions & {
  readonly database?: 'sqlite' | 'postgres'
  /** Whether the mirror has been filled before. */
  readonly mirrored?: boolean
  readonly project?: Partial<ProjectConfig>
}

export async function outgoing({
  database = 'sqlite',
  mirrored = true,
  project = {},
  ...options
}: OutgoingOptions = {}): Promise<Outgoing> {
  const sandbox = await startSandbox({
    size: { conversations: 12, visitors: 12, calls: 2 },
    ...options,
    switches: { 'rate.kind': 'off', ...options.switches },
  })
  onTestFinished(() => sandbox.stop())
  const place = await databases.find(({ name }) => name === database)!.make()
  onTestFinished(() => place.drop())
  if (mirrored) await syncOnce(place.url!, sandbox)
  const warehouse = await place.open()
  const desk = warehouse.queueDesk(sandbox.projectId)
  const settings = (over: Partial<ProjectConfig>) => projectOf(sandbox, { verifyAfterMs: 200, ...project, ...over })
  const idsOf = (stream: 'conversations' | 'visitors') => [...sandbox.truth(stream)].map(({ id }) => id!)
  const conversations = () => idsOf('conversations')
  const visitors = () => idsOf('visitors')
  const all = () => desk.list({}, 100_000)
  return {
    place,
    sandbox,
    warehouse,
    conversation: (n) => conversations()[n]!,
    visitor: (n) => visitors()[n]!,
    conversations,
    visitors,
    queue: async (...lines) => {
      const how = { status: 'queued', batchId: null, createdBy: 'test', expiresAt: null } as const
      const done = await desk.enqueue(once(lines.map(wishOf)), how)
      return 'ids' in done ? done.ids : []
    },
    push: ({ despiteFailures = false, ...over } = {}) => {
      const config = configOf(place.url!, settings(over))
      const log = pino({ level: process.env.DEBUG_PUSH ?? 'silent' })
      return pushProject(config, settings(over), {
        signal: new AbortController().signal,
        onProgress: () => {},
        onBudget: () => {},
        log,
        despiteFailures,
      })
    },
    all,
    secret,
    statuses: async () => (await all()).map(({ status }) => status),
  }
}

export function wishOf(line: Line): Wish {
  const read = readWish(line)
  if (!read.ok) throw new Error(read.why.join('; '))
  return read.wish
}

export async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}

/** The writes that the service did, as `operation target content`. */
export function done(sandbox: Sandbox, operation?: string) {
  return sandbox.ledger().filter((entry) => operation === undefined || entry.operation === operation)
}
