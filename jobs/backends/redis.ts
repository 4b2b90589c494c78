/** The queue in Redis: a connection that gives up for adding jobs, and one that retries forever for running them. */
import { createRedisBackend } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { UserError } from '../../src/core/user-error.ts'
import { retryUntilConnected } from './connect-retry.ts'
import { requirePermissions } from './redis-permissions.ts'
import type { StoreConnection, StoreOptions } from './store-connection.ts'

const commonOptions = {
  lazyConnect: true,
  keepAlive: 10_000,
  connectTimeout: 10_000,
  retryStrategy: (times: number) => Math.min(100 * times, 2_000),
  // After a failover the old primary refuses writes until the client finds the new one.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

export async function openRedis(
  url: string,
  { prefix, connectTimeoutMs, requestTimeoutMs }: StoreOptions,
): Promise<StoreConnection> {
  const hint = () => 'check user, password and database in DESKMIRROR_QUEUE_URL'
  const server = await retryUntilConnected(url, connectTimeoutMs, () => probeServer(url, prefix), hint)
  const warnings = serverWarnings(server)
  const adding = new Redis(url, { ...commonOptions, commandTimeout: requestTimeoutMs, maxRetriesPerRequest: 20 })
  const running = new Redis(url, { ...commonOptions, maxRetriesPerRequest: null })
  const blocking = trackDuplicates(running)
  // BullMQ forwards errors to its listeners; each connection would report them a second time.
  for (const client of [adding, running]) client.on('error', () => {})
  await Promise.all([adding.connect(), running.connect()])
  return {
    kind: 'redis',
    warnings,
    prefix,
    factory: (name, options, use = {}) => {
      const connection = use.withBlockingConnection || use.blocking ? running : adding
      // BullMQ would print these warnings for each connection.
      return createRedisBackend(name, { ...options, connection, skipVersionCheck: warnings.length > 0 }, use)
    },
    reserveConnection: () => {},
    // Redis already puts a job whose delay is over behind all others.
    sendToBack: async () => {},
    // Each of BullMQ's steps is atomic in Redis, so no lock is needed.
    runExclusively: (work) => work(),
    ping: async () => void (await adding.ping()),
    close: async () => {
      for (const client of [adding, running, ...blocking]) client.disconnect()
    },
  }
}

/**
 * BullMQ duplicates this connection for each worker, and leaves the copy open if it cannot close it in order. The copy is
 * not lazy: BullMQ would call `connect` once, remember that it failed, and never wait for jobs again.
 */
function trackDuplicates(client: Redis): ReadonlySet<Redis> {
  const duplicates = new Set<Redis>()
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (options) => {
    const copy = duplicate({ ...options, lazyConnect: false })
    duplicates.add(copy.on('error', () => {}).once('end', () => duplicates.delete(copy)))
    return copy
  }
  return duplicates
}

type RedisInfo = { readonly version: string | undefined; readonly policy: string | undefined }

/** Uses a connection of its own, which fails at once. */
async function probeServer(url: string, prefix: string): Promise<RedisInfo | null> {
  const failFast = { retryStrategy: () => null, connectTimeout: 5_000, commandTimeout: 5_000 }
  const client = new Redis(url, { ...commonOptions, ...failFast })
  let cause: Error | undefined
  client.on('error', (error: Error) => {
    cause ??= error
  })
  try {
    await client.connect()
    await client.ping()
    await requirePermissions(client, url, prefix)
    return await readServerInfo(client)
  } catch (error) {
    throw error instanceof UserError ? error : (cause ?? error)
  } finally {
    client.disconnect()
  }
}

/** Null: this user may not run INFO. `CONFIG GET` is not used because managed servers forbid it. */
async function readServerInfo(client: Redis): Promise<RedisInfo | null> {
  try {
    const lines = (await client.info()).split(/\r?\n/)
    const value = (name: string) => lines.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1)
    return { version: value('redis_version'), policy: value('maxmemory_policy') }
  } catch {
    return null
  }
}

function serverWarnings(server: RedisInfo | null): string[] {
  if (server === null) return ['this user may not run INFO on Redis, so its version and maxmemory-policy are unknown']
  const found: string[] = []
  if (server.policy !== undefined && server.policy !== 'noeviction') {
    found.push(`Redis may evict jobs when its memory is full (maxmemory-policy ${server.policy}): set it to noeviction`)
  }
  const [major = 0, minor = 0] = (server.version ?? '').split('.').map(Number)
  if (server.version !== undefined && (major < 6 || (major === 6 && minor < 2))) {
    found.push(`Redis ${server.version} is old: 6.2 or newer is recommended`)
  }
  return found
}
