/** Connections to Redis: to one server, to a cluster, or to the master that sentinels name. */
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { redisAddressOf } from '../values/redis-address.ts'
import type { Ms } from '../values/time.ts'
import { checkServerIdentity } from '../warehouse/server-identity.ts'

export type RedisClient = Redis | Cluster

/** While a cluster replaces a node, which it gives up after 15 s by default. */
const clusterRetries = { everyMs: 500 as Ms, times: 120 }

export function openRedisClient(
  url: string,
  options: Omit<RedisOptions, 'replyMapping'> & {
    /** Null: a client that is not connected stays so. */
    readonly retryStrategy: (times: number) => number | null
  },
): RedisClient {
  const address = redisAddressOf(url)
  const { retryStrategy, commandTimeout, lazyConnect = false, ...own } = options
  if (address.kind === 'server') {
    const tls = /^rediss:/i.test(url) ? { tls: { checkServerIdentity } } : {}
    return new Redis(url, { ...options, ...tls })
  }
  const { hosts, login, isTls } = address
  const tls = isTls ? { tls: { checkServerIdentity: checkAnyHost(hosts) } } : {}
  if (address.kind === 'sentinel') {
    const { master: name, database: db, sentinelLogin } = address
    return new Redis({
      ...options,
      ...login,
      ...tls,
      ...(isTls && { enableTLSForSentinelMode: true, sentinelTLS: tls.tls }),
      sentinels: [...hosts],
      name,
      db,
      ...(sentinelLogin.username && { sentinelUsername: sentinelLogin.username }),
      ...(sentinelLogin.password && { sentinelPassword: sentinelLogin.password }),
      sentinelRetryStrategy: retryStrategy,
    })
  }
  const cluster = new Cluster([...hosts], {
    redisOptions: { ...own, ...login, ...tls },
    lazyConnect,
    // A cluster that does not serve all keys is connected to: its answer says why.
    enableReadyCheck: false,
    clusterRetryStrategy: retryStrategy,
    // Names stay names: certificates are for them.
    dnsLookup: (host, found) => found(null, host),
    slotsRefreshTimeout: options.connectTimeout ?? 5000,
    // A node that is silent sends no error that would show that another has its keys.
    slotsRefreshInterval: 10_000,
    retryDelayOnFailover: clusterRetries.everyMs,
    retryDelayOnClusterDown: retryStrategy(1) === null ? 0 : clusterRetries.everyMs,
    maxRedirections: clusterRetries.times,
  })
  if (commandTimeout === undefined) return cluster
  // Of the whole command, with what it waits for a node: ioredis limits each attempt only.
  const sendCommand = cluster.sendCommand.bind(cluster)
  cluster.sendCommand = (command, ...rest) => {
    command.setTimeout(commandTimeout)
    return sendCommand(command, ...rest)
  }
  return cluster
}

/** Servers may be announced by their addresses, and have the certificate of the group's name. */
function checkAnyHost(hosts: readonly { readonly host: string }[]): typeof checkServerIdentity {
  return (host, certificate) => {
    const problems = [host, ...hosts.map((one) => one.host)].map((name) =>
      checkServerIdentity(name, certificate),
    )
    return problems.includes(undefined) ? undefined : problems[0]
  }
}

/** What went wrong at a node, instead of that all have failed. */
export function redisErrorOf(error: Error): Error {
  return 'lastNodeError' in error && error.lastNodeError instanceof Error
    ? error.lastNodeError
    : error
}
