/** Opens the queue that a URL names, and loads only what that kind of queue needs. */
import { type BackendKind, backendKindOf } from '../../src/config/queue-backends.ts'
import type { Logger } from '../../src/log.ts'
import type { Backend } from './backend.ts'
import type { StoreConnection, StoreOptions } from './bullmq/bullmq.ts'
import { openInProcess } from './in-process.ts'

type BackendOptions = StoreOptions & {
  readonly log: Logger
  readonly onError: () => void
  /** Installations that share a store have queues of their own. */
  readonly installation?: string
}

const defaults = { prefix: 'deskmirror', connectTimeoutMs: 30_000, requestTimeoutMs: 15_000, onError: () => {} }

/** `queueUrl`: a setting that was read. Throws UserError: unreachable, refused. */
export async function openBackend(
  queueUrl: string,
  options: Partial<BackendOptions> & Pick<BackendOptions, 'log'>,
): Promise<Backend> {
  const backend = await openers[backendKindOf(queueUrl)](queueUrl, { ...defaults, ...options })
  for (const why of backend.warnings) options.log.warn({ event: 'queue.warning', backend: backend.kind, why })
  return backend
}

const openers: Readonly<Record<BackendKind, (url: string, options: BackendOptions) => Promise<Backend>>> = {
  embedded: async () => openInProcess(),
  redis: async (url, options) => openBullMq(await (await import('./bullmq/redis.ts')).openRedis(url, options), options),
  postgres: async (url, options) =>
    openBullMq(await (await import('./bullmq/postgres.ts')).openPostgres(url, options), options),
}

async function openBullMq(store: StoreConnection, { log, installation, onError }: BackendOptions): Promise<Backend> {
  const { createBullBackend } = await import('./bullmq/bullmq.ts')
  return createBullBackend(store, log, installation, onError)
}
