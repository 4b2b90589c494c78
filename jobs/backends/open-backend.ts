/** Opens the queue that a URL names, and loads only what that kind of queue needs. */
import { type BackendKind, backendKindOf } from '../../src/config/queue-backends.ts'
import type { Logger } from '../../src/log.ts'
import type { Backend } from './backend.ts'
import type { QueueServerOptions } from './bullmq/redis.ts'
import { openInProcess } from './in-process.ts'

type BackendOptions = QueueServerOptions & {
  readonly log: Logger
  readonly onError: () => void
  /** Installations that share a Redis have queues of their own. */
  readonly installation?: string
}

const defaults = {
  prefix: 'deskmirror',
  connectTimeoutMs: 30_000,
  requestTimeoutMs: 15_000,
  onError: () => {},
}

/** `queueUrl`: a setting that was read. Throws UserError: unreachable, refused. */
export async function openBackend(
  queueUrl: string,
  options: Partial<BackendOptions> & Pick<BackendOptions, 'log'>,
): Promise<Backend> {
  const backend = await openers[backendKindOf(queueUrl)](queueUrl, { ...defaults, ...options })
  for (const why of backend.warnings) options.log.warn({ event: 'queue.warning', why })
  return backend
}

const openers: Readonly<
  Record<BackendKind, (url: string, options: BackendOptions) => Promise<Backend>>
> = {
  embedded: async () => openInProcess(),
  redis: async (url, { log, installation, onError, ...options }) => {
    const redis = await (await import('./bullmq/redis.ts')).openRedis(url, options)
    const { createBullBackend } = await import('./bullmq/bullmq.ts')
    return createBullBackend(redis, log, installation, onError)
  },
}
