/** A sandbox, a mirror of it, and an outbox, all real. */

import { writeFileSync } from 'node:fs'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { pushProject } from '../../src/app/push.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import type { OutboxEntry } from '../../src/outbox/core/outbox-entry.ts'
import { parseRequest, type WritebackRequest } from '../../src/outbox/core/writeback-request.ts'
import type { PushReport } from '../../src/outbox/send/push.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import type { SandboxOptions } from '../../src/sandbox/memory-sandbox.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { secret } from '../../src/values/secret.ts'
import { configOf, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import type { Filling } from '../support/warehouse-templates.ts'

export type OutboxFixture = {
  readonly instance: DatabaseInstance
  readonly sandbox: Sandbox
  readonly warehouse: Warehouse
  /** The n-th conversation and visitor of the service. */
  readonly conversation: (n: number) => string
  readonly visitor: (n: number) => string
  readonly conversations: () => readonly string[]
  readonly visitors: () => readonly string[]
  /** Queues lines in import form and returns the ids. */
  readonly queue: (...lines: readonly RequestLine[]) => Promise<readonly string[]>
  readonly push: (over?: PushOverrides) => Promise<PushReport>
  readonly project: ProjectConfig
  readonly all: () => Promise<readonly OutboxEntry[]>
  readonly secret: typeof secret
  /** Statuses of all write-backs, in queue order. */
  readonly statuses: () => Promise<readonly string[]>
}

type PushOverrides = Partial<ProjectConfig> & {
  readonly despiteFailures?: boolean
  readonly queueUrl?: string
  readonly signal?: AbortSignal
}

export type RequestLine = Readonly<Record<string, unknown>>

export type OutboxFixtureOptions = SandboxOptions & {
  readonly database?: 'sqlite' | 'postgres'
  /** Whether to sync the mirror first. */
  readonly mirrored?: boolean
  readonly project?: Partial<ProjectConfig>
}

const startUsual = (options: SandboxOptions) =>
  startSandbox({
    size: { conversations: 12, visitors: 12, calls: 2, activityPerVisitor: 0, days: 2 },
    ...options,
    switches: { 'rate.kind': 'off', ...options.switches },
  })

/** Mirrors what write-backs are for, and nothing else. */
export const syncTargets = (
  url: string,
  sandbox: Sandbox,
  mode: 'incremental' | 'full' = 'incremental',
) => syncOnce(url, sandbox, { mode, streams: ['conversations', 'messages', 'visitors'] })

/** Made once, as the sandbox has the same rows each time, and a sync takes most of a test's time. */
const usualMirror: Filling = {
  name: 'outbox',
  fill: async (_, url) => {
    const sandbox = await startUsual({})
    await syncTargets(url, sandbox).finally(sandbox.stop)
  },
}

/** Whether a first sync stores what it stores without these options. */
function isMirroredAsUsual({ switches = {}, keys: _, ...others }: SandboxOptions): boolean {
  const changesWritesOnly =
    /^(writes|reply|errors|latency|note)\.|^visitors\.stores$|^fault\.(?!rate)/
  return (
    Object.keys(others).length === 0 &&
    Object.keys(switches).every((name) => changesWritesOnly.test(name))
  )
}

export async function createOutboxFixture({
  database = 'sqlite',
  mirrored = true,
  project = {},
  ...options
}: OutboxFixtureOptions = {}): Promise<OutboxFixture> {
  const sandbox = await startUsual(options)
  onTestFinished(() => sandbox.stop())
  const isUsual = mirrored && isMirroredAsUsual(options)
  const testDatabase = databases.find(({ name }) => name === database)!
  const instance = await (isUsual ? testDatabase.make(usualMirror) : testDatabase.makeForSandbox())
  onTestFinished(() => instance.drop())
  addSendRecord(instance)
  if (mirrored && !isUsual) await syncTargets(instance.url!, sandbox)
  const warehouse = await instance.open()
  const admin = createOutbox(warehouse.projectDb(sandbox.projectId))
  const projectWith = (over: Partial<ProjectConfig>) =>
    projectConfigOf(sandbox, { verifyAfterMs: 200, ...project, ...over })
  const idsOf = (stream: 'conversations' | 'visitors') =>
    [...sandbox.truth(stream)].map(({ id }) => id!)
  const conversations = () => idsOf('conversations')
  const visitors = () => idsOf('visitors')
  const all = () => admin.list({}, 100_000)
  return {
    instance,
    sandbox,
    warehouse,
    conversation: (n) => conversations()[n]!,
    visitor: (n) => visitors()[n]!,
    conversations,
    visitors,
    queue: async (...lines) => {
      const enqueueOptions = {
        status: 'queued',
        batchId: null,
        createdBy: 'test',
        expiresAt: null,
      } as const
      const result = await admin.enqueue(singleItem(lines.map(toRequest)), enqueueOptions)
      return 'ids' in result ? result.ids : []
    },
    project: projectWith({}),
    push: ({
      despiteFailures = false,
      queueUrl = 'embedded',
      signal = new AbortController().signal,
      ...over
    } = {}) => {
      const config = { ...configOf(instance.url!, projectWith(over)), queueUrl }
      const log = pino({ level: process.env.DEBUG_PUSH ?? 'silent' })
      return pushProject(config, projectWith(over), {
        signal,
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

/**
 * As a sender leaves it beside the file before its first send, for tests that mark sends without
 * one.
 */
export function addSendRecord({ kind, url }: DatabaseInstance): void {
  if (kind === 'sqlite') writeFileSync(`${url?.replace(/^sqlite:/, '')}-sends`, '{}')
}

export function toRequest(line: RequestLine): WritebackRequest {
  const result = parseRequest(line)
  if (!result.ok) throw new Error(JSON.stringify(result.mistakes))
  return result.request
}

export async function* singleItem<T>(value: T): AsyncGenerator<T> {
  yield value
}

/** The writes that the service carried out. */
export function performedWrites(sandbox: Sandbox, operation?: string) {
  return sandbox
    .ledger()
    .filter((entry) => operation === undefined || entry.operation === operation)
}
