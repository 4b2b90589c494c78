/** Opens the queue that a URL names, and loads only what that kind of queue needs. */
import type { Logger } from '../../src/log.ts'
import type { Backend } from './backend.ts'
import { openInProcess } from './in-process.ts'
import type { StoreConnection, StoreOptions } from './store-connection.ts'

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

type Store = {
  readonly protocol: RegExp
  readonly open: (queueUrl: string, options: StoreOptions) => Promise<StoreConnection>
}

const stores: Readonly<Record<StoreConnection['kind'], Store>> = {
  redis: {
    protocol: /^rediss?:/,
    open: async (url, options) => (await import('./redis.ts')).openRedis(url, options),
  },
  postgres: {
    protocol: /^postgres(ql)?:/,
    open: async (url, options) => (await import('./postgres.ts')).openPostgres(url, options),
  },
}

function openStore(queueUrl: string, options: StoreOptions): Promise<StoreConnection> {
  const store = Object.values(stores).find(({ protocol }) => protocol.test(queueUrl))
  if (store === undefined) throw new Error('no queue has a URL of this protocol')
  return store.open(queueUrl, options)
}
