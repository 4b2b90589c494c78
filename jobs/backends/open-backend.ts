/** Opens the queue that a URL names, and loads only what that kind of queue needs. */
import type { Logger } from '../../src/log.ts'
import type { Backend } from './backend.ts'
import type { StoreConnection, StoreOptions } from './bullmq.ts'
import { openInProcess } from './in-process.ts'

type BackendOptions = Partial<StoreOptions> & {
  readonly log: Logger
  /** Called for each error of the store. */
  readonly onError?: () => void
  /** Installations that share a store have queues of their own. */
  readonly installation?: string
}

const defaults: StoreOptions = { prefix: 'deskmirror', connectTimeoutMs: 30_000, requestTimeoutMs: 15_000 }

/** `queueUrl`: `redis://…`, `rediss://…`, `postgres://…` or `embedded`. Throws UserError: unreachable, refused. */
export async function openBackend(
  queueUrl: string,
  { log, onError = () => {}, installation, ...options }: BackendOptions,
): Promise<Backend> {
  if (queueUrl === 'embedded') return openInProcess()
  const { createBullBackend } = await import('./bullmq.ts')
  const store = await openStore(queueUrl, { ...defaults, ...options })
  for (const why of store.warnings) log.warn({ event: 'queue.warning', backend: store.kind, why })
  return createBullBackend(store, log, installation, onError)
}

const stores = {
  redis: [/^rediss?:/, async (url, options) => (await import('./redis.ts')).openRedis(url, options)],
  postgres: [/^postgres(ql)?:/, async (url, options) => (await import('./postgres.ts')).openPostgres(url, options)],
} satisfies Record<
  StoreConnection['kind'],
  readonly [protocol: RegExp, open: (url: string, options: StoreOptions) => Promise<StoreConnection>]
>

function openStore(queueUrl: string, options: StoreOptions): Promise<StoreConnection> {
  const found = Object.values(stores).find(([protocol]) => protocol.test(queueUrl))
  if (found === undefined) throw new Error('no queue has a URL of this protocol')
  return found[1](queueUrl, options)
}
