/**
 * Connections to the queue's Redis: one gives up, to add jobs, one retries forever, to run them.
 */
import { randomUUID } from 'node:crypto'
import { Cluster } from 'ioredis'
import {
  openRedisClient,
  type RedisClient,
  redisErrorOf,
} from '../../../src/service/redis-client.ts'
import { writeClusterAddress } from '../../../src/service/redis-problems.ts'
import { redisAddressOf, redisKeyPrefix, userOfRedis } from '../../../src/values/redis-address.ts'
import { serverDisplayName } from '../../../src/values/server-address.ts'
import type { Ms } from '../../../src/values/time.ts'
import { errorText, UserError } from '../../../src/values/user-error.ts'
import { retryUntilConnected, unusableQueue } from './redis-errors.ts'

const commonOptions = {
  lazyConnect: true,
  keepAlive: 10_000,
  connectTimeout: 10_000,
  retryStrategy: (times: number) => Math.min(100 * times, 2_000),
  // After a failover the old primary refuses writes until the client finds the new one.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
}

export type QueueServerOptions = {
  /** Of all keys: other programs may share the server. */
  readonly prefix: string
  readonly connectTimeoutMs: Ms
  /** How long the server may take to respond when jobs are added; it may restart meanwhile. */
  readonly requestTimeoutMs: Ms
}

export async function openRedis(
  url: string,
  { prefix: name, connectTimeoutMs, requestTimeoutMs }: QueueServerOptions,
) {
  const prefix = redisKeyPrefix(url, name)
  const server = await retryUntilConnected(url, connectTimeoutMs, () => probeServer(url, prefix))
  const warnings = serverWarnings(server, url)
  const adding = openRedisClient(url, {
    ...commonOptions,
    commandTimeout: requestTimeoutMs,
    maxRetriesPerRequest: 20,
  })
  const running = openRedisClient(url, { ...commonOptions, maxRetriesPerRequest: null })
  const blocking = trackDuplicates(running)
  // BullMQ forwards errors to its listeners; each connection would report them a second time.
  for (const client of [adding, running]) client.on('error', () => {})
  await Promise.all([adding.connect(), running.connect()])
  return {
    server: serverDisplayName(url),
    warnings,
    prefix,
    commandLine: commandLineOf(url),
    adding,
    running,
    // A server that refuses writes answers PING as ever.
    ping: async () => void (await adding.set(`${prefix}:ping`, 1, 'PX', 60_000)),
    /** To be called after all queues and workers are closed. */
    close: async () => {
      for (const client of [adding, running, ...blocking]) client.disconnect()
    },
  }
}

/**
 * BullMQ duplicates this connection for each worker, and leaves the copy open if it cannot close
 * it. The copy is not lazy: BullMQ would call `connect` once and never wait for jobs again.
 */
function trackDuplicates(client: RedisClient): ReadonlySet<RedisClient> {
  const duplicates = new Set<RedisClient>()
  const track = <Client extends RedisClient>(copy: Client): Client => {
    duplicates.add(copy.on('error', () => {}).once('end', () => duplicates.delete(copy)))
    return copy
  }
  if (client instanceof Cluster) {
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (nodes, options) =>
      track(duplicate(nodes, { ...options, lazyConnect: false }))
  } else {
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (options) => track(duplicate({ ...options, lazyConnect: false }))
  }
  return duplicates
}

const isServerAnswer = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ReplyError'

/** How a person runs a command there. Never with the password. */
function commandLineOf(url: string): string {
  const address = redisAddressOf(url)
  if (address.kind === 'server') return 'redis-cli -u "$DESKMIRROR_QUEUE_URL"'
  const { kind, hosts, isTls } = address
  const where = kind === 'cluster' ? `-c -h ${hosts[0]?.host} -p ${hosts[0]?.port}` : '-h MASTER'
  return `redis-cli ${isTls ? '--tls ' : ''}${where} --user ${userOfRedis(url)} --askpass`
}

type RedisInfo = {
  readonly version: string | undefined
  readonly policy: string | undefined
  readonly isClustered: boolean
  /** It refuses writes while no replica is near. */
  readonly needsReplica: boolean
}

/** Uses a connection of its own, which fails at once. */
async function probeServer(url: string, prefix: string): Promise<RedisInfo | null> {
  const failFast = { retryStrategy: () => null, connectTimeout: 5_000, commandTimeout: 5_000 }
  const client = openRedisClient(url, { ...commonOptions, ...failFast })
  let cause: Error | undefined
  const noteError = (error: Error) => {
    // That a connection was closed is only what followed from it.
    if (cause === undefined || cause.message === 'Connection is closed.')
      cause = redisErrorOf(error)
  }
  client.on('error', noteError).on('node error', noteError)
  try {
    await client.connect()
    await client.ping()
    const info = await readServerInfo(client)
    if (info?.isClustered === true && !(client instanceof Cluster))
      throw unusableQueue(url, 'it is part of a cluster', writeClusterAddress)
    await requirePermissions(client, url, prefix)
    return info
  } catch (error) {
    // Of a cluster, one node may have failed before, and others answer.
    const isCertain = client instanceof Cluster && isServerAnswer(error)
    throw error instanceof UserError || isCertain ? error : (cause ?? error)
  } finally {
    client.disconnect()
  }
}

/** Null: this user may not run INFO. `CONFIG GET` is not used because managed servers forbid it. */
async function readServerInfo(client: RedisClient): Promise<RedisInfo | null> {
  try {
    const lines = (await client.info()).split(/\r?\n/)
    const value = (name: string) =>
      lines.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1)
    return {
      version: value('redis_version'),
      policy: value('maxmemory_policy'),
      isClustered: value('cluster_enabled') === '1',
      needsReplica: value('min_slaves_good_slaves') !== undefined,
    }
  } catch {
    return null
  }
}

function serverWarnings(server: RedisInfo | null, url: string): string[] {
  if (server === null)
    return ['this user may not run INFO on Redis, so its version and maxmemory-policy are unknown']
  const found: string[] = []
  if (server.policy !== undefined && server.policy !== 'noeviction')
    found.push(
      `Redis may evict jobs when its memory is full (maxmemory-policy ${server.policy}): ` +
        'set it to noeviction',
    )
  if (redisAddressOf(url).kind === 'sentinel' && !server.needsReplica)
    found.push(
      'a master that was cut off goes on accepting writes, so two could grant the whole ' +
        'rate: set min-replicas-to-write 1 and min-replicas-max-lag 10',
    )
  const [major = 0, minor = 0] = (server.version ?? '').split('.').map(Number)
  if (server.version !== undefined && (major < 6 || (major === 6 && minor < 2)))
    found.push(`Redis ${server.version} is old: 6.2 or newer is recommended`)
  return found
}

/**
 * What the scripts of BullMQ 6.7 and src/service/rate-limit/redis-record.ts run, by type of key.
 */
const probeCommands = [
  'HSET {key} a 1, HMSET {key} a 1, HGET {key} a, HMGET {key} a, HGETALL {key}, HEXISTS ' +
    '{key} a, HINCRBY {key} n 1',
  'HDEL {key} n, PEXPIRE {key} 60000, PTTL {key}, EXISTS {key}, TYPE {key}, DEL {key}',
  'SET {key} 1 PX 60000, GET {key}, INCR {key}, DEL {key}',
  'LPUSH {key} a, RPUSH {key} b, LRANGE {key} 0 -1, LLEN {key}, LINDEX {key} 0, LREM {key} ' +
    '1 c, LTRIM {key} 0 10',
  'RPOPLPUSH {key} {other}, DEL {key} {other}',
  'ZADD {key} 1 a, ZCARD {key}, ZCOUNT {key} 0 1, ZSCORE {key} a, ' +
    'ZRANGE {key} 0 -1, ZREVRANGE {key} 0 -1',
  'ZRANGEBYSCORE {key} 0 1, ZREM {key} b, ZPOPMIN {key}, DEL {key}',
  'SADD {key} a, SMEMBERS {key}, SREM {key} a, XADD {key} * a 1, XTRIM ' +
    '{key} MAXLEN 10, DEL {key}, TIME',
].flatMap((commands) => commands.split(', '))

/** ARGV: commands, words separated by a space. Returns the first error, with the command's name. */
const probeScript = `
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do table.insert(words, word) end
  local answer = redis.pcall(unpack(words))
  if type(answer) == 'table' and answer.err then
    redis.pcall('DEL', KEYS[1], KEYS[2])
    return words[1] .. ': ' .. answer.err
  end
end
return ''
`

/** Throws UserError: the database does not exist, or the user lacks a permission. */
async function requirePermissions(client: RedisClient, url: string, prefix: string): Promise<void> {
  await requireDatabase(client, url)
  const key = `${prefix}:probe:${randomUUID()}`
  const lines = probeCommands.map((line) =>
    line.replace('{key}', key).replace('{other}', `${key}:other`),
  )
  const explain = (command: string) => (error: unknown) => {
    const why = errorText(error)
    throw isPermissionError(why) ? missingPermission(url, prefix, `${command}: ${why}`) : error
  }
  const failed = await client
    .eval(probeScript, 2, key, `${key}:other`, ...lines)
    .then(String, explain('EVAL'))
  if (failed !== '')
    throw isPermissionError(failed) ? missingPermission(url, prefix, failed) : new Error(failed)
  // Does not wait: the set does not exist.
  await client.bzpopmin(`${key}:other`, 0.01).catch(explain('BZPOPMIN'))
}

/** Any other error is the server's state: out of memory, a replica, unable to save. */
const isPermissionError = (why: string): boolean =>
  /NOPERM|ACL failure|can't run this command|can't access/.test(why)

/** ioredis continues in database 0 if the one in the address does not exist. */
async function requireDatabase(client: RedisClient, url: string): Promise<void> {
  const address = redisAddressOf(url)
  if (client instanceof Cluster || address.kind === 'cluster') return
  const database =
    address.kind === 'sentinel' ? address.database : Number(new URL(url).pathname.slice(1) || 0)
  await client.select(database).catch((error: unknown) => {
    const why = errorText(error)
    if (!/index is out of range|invalid DB index/i.test(why)) throw error
    const next =
      'choose an existing one (usually 0 to 15) in DESKMIRROR_QUEUE_URL, or raise ' +
      '`databases` in its configuration'
    throw unusableQueue(url, `this Redis has no database ${database}`, next)
  })
}

function missingPermission(url: string, prefix: string, why: string): UserError {
  const user = userOfRedis(url)
  const next = `allow it: ACL SETUSER ${user} ~${prefix}:* +@all -@dangerous +info`
  return unusableQueue(url, `its user ${user} lacks a permission: ${why}`, next)
}
