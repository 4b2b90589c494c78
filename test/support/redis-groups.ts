/**
 * Several Redis servers on loopback: a cluster of three masters with a replica each; and a master
 * with two replicas, of which three sentinels take care. They are small, and store nothing on disk.
 */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import {
  createServerFolder,
  findProgram,
  freePort,
  type Server,
  type ServerUser,
  startGuarded,
  tryThreeTimes,
  unprivilegedUser,
} from './private-server.ts'
import type { KeyPair } from './tls.ts'

/** What they demand of all who connect. `url` has it. */
const login = { username: 'app', password: 'p@ss/word' }
const credentials = `${login.username}:${encodeURIComponent(login.password)}`
const adminPassword = 'of-the-administrator'
/** They have no password. */
const sentinelPorts = new Set<number>()
/** The user has no more rights than the guide gives it. */
const setUser = (redis: Redis, prefix: string) =>
  redis.call(
    'ACL',
    'SETUSER',
    login.username,
    ...`on >${login.password} ~${prefix}:* +@all -@dangerous +info`.split(' '),
  )

export type RedisGroup = Server & {
  /** Of each server, without the password. */
  readonly ports: readonly number[]
  /** Kills the master of our keys, and resolves when another one has taken its place. */
  readonly killMaster: () => Promise<void>
  /** Kills it, and waits for nothing. */
  readonly stopMaster: () => Promise<void>
  /** Starts another replica of that master. */
  readonly addReplica: () => Promise<void>
  /** All keys of all masters. */
  readonly keys: () => Promise<readonly string[]>
  /** What an administrator may do, at one of the servers. */
  readonly admin: (port: number) => Redis
}

type RedisNode = { readonly port: number; readonly stop: () => Promise<void> }
type ClusterNode = RedisNode & { readonly busPort: number; readonly id: string }

/** `tls`: they speak nothing else, with this certificate. */
export type GroupOptions = { readonly tls?: KeyPair }

/** Settings for a server, or a sentinel, of this folder and port. */
function networkSettings(folder: string, owner: ServerUser, port: number, tls?: KeyPair) {
  const common = { bind: '127.0.0.1', dir: folder }
  if (tls === undefined) return { ...common, port }
  const files = { 'tls-cert-file': tls.cert, 'tls-key-file': tls.key }
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
    return [name, path] as const
  })
  return {
    ...common,
    port: 0,
    'tls-port': port,
    ...Object.fromEntries(paths),
    'tls-ca-cert-file': join(folder, 'tls-cert-file'),
    'tls-auth-clients': 'no',
    'tls-replication': 'yes',
  }
}

async function startServer(
  { tls }: GroupOptions,
  own: Readonly<Record<string, string | number>> = {},
): Promise<RedisNode> {
  const owner = unprivilegedUser('redis', 'nobody')
  const folder = createServerFolder('redis', owner)
  const port = await freePort()
  const settings = {
    ...networkSettings(folder, owner, port, tls),
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    'repl-diskless-sync-delay': 0,
    requirepass: adminPassword,
    masterauth: adminPassword,
    ...own,
  }
  const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const stop = await startGuarded({
    command: [program(), ...words],
    folder,
    owner,
    signal: 'TERM',
    ready: /Ready to accept connections/i,
  })
  return { port, stop }
}

const program = () => {
  const found = findProgram('redis-server', ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'])
  if (found === undefined) throw new Error('there is no redis-server')
  return found
}

function administer({ tls }: GroupOptions) {
  const connect = (port: number): Redis => {
    const isSentinel = sentinelPorts.has(port)
    const password = isSentinel ? {} : { password: adminPassword }
    const options = { host: '127.0.0.1', port, maxRetriesPerRequest: 3, ...password }
    const redis = new Redis(
      tls === undefined ? options : { ...options, tls: { rejectUnauthorized: false } },
    )
    return redis.on('error', () => {})
  }
  const at = async <T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = connect(port)
    return work(redis).finally(() => redis.disconnect())
  }
  /** Like `kill -9`: nothing is passed on to replicas any more. */
  const kill = (port: number) =>
    at(port, async (redis) => {
      const [, pid = ''] = /process_id:(\d+)/.exec(await redis.info('server')) ?? []
      process.kill(Number(pid), 'SIGKILL')
    })
  const isSynced = (port: number) =>
    at(port, async (redis) => (await redis.info('replication')).includes('master_link_status:up'))
  return { connect, at, kill, isSynced }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition().catch(() => false))) await sleep(50)
}

export async function startRedisCluster(options: GroupOptions = {}): Promise<RedisGroup> {
  const { at, kill, isSynced, connect } = administer(options)
  const servers: ClusterNode[] = []
  const startNode = async () => {
    const { busPort, ...server } = await tryThreeTimes(async () => {
      const bus = await freePort()
      const started = await startServer(options, {
        'cluster-enabled': 'yes',
        'cluster-port': bus,
        'cluster-node-timeout': 1000,
        'cluster-replica-validity-factor': 0,
        ...(options.tls && { 'tls-cluster': 'yes' }),
      })
      return { ...started, busPort: bus }
    })
    await at(server.port, (redis) => setUser(redis, '{deskmirror}'))
    const id = await at(server.port, (redis) => redis.call('CLUSTER', 'MYID'))
    const node = { ...server, busPort, id: String(id) }
    servers.push(node)
    return node
  }
  const nodes = await Promise.all(Array.from({ length: 6 }, startNode))
  const [first, ...others] = nodes
  const meet = (port: number, node: ClusterNode) =>
    at(port, (redis) => redis.call('CLUSTER', 'MEET', '127.0.0.1', node.port, node.busPort))
  /** It has to know the master, and then its data. */
  const replicate = async ({ port }: ClusterNode, master: string) => {
    await until(async () => {
      await at(port, (redis) => redis.call('CLUSTER', 'REPLICATE', master))
      return true
    })
    await until(() => isSynced(port))
  }
  const slots = [0, 5461, 10_923, 16_384]
  for (const node of others) await meet(first!.port, node)
  for (const [index, { port, id }] of nodes.slice(0, 3).entries()) {
    const range = [slots[index]!, slots[index + 1]! - 1]
    await at(port, (redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', ...range))
    await replicate(nodes[index + 3]!, id)
  }
  const dead = new Set<number>()
  const alive = () => servers.filter(({ port }) => !dead.has(port))
  const isServing = (port: number) =>
    at(port, async (redis) => String(await redis.cluster('INFO')).includes('cluster_state:ok'))
  const knowsAll = (port: number) =>
    at(port, async (redis) => {
      const known = String(await redis.call('CLUSTER', 'NODES'))
      return alive().every(({ id }) => new RegExp(`^${id} .* connected`, 'm').test(known))
    })
  const serving = async () => {
    for (const { port } of alive()) await until(() => isServing(port))
  }
  await serving()
  /** The port of the master of our keys, as the first one that answers knows it. */
  const masterPort = () =>
    at(alive()[0]!.port, async (redis) => {
      const slot = Number(await redis.cluster('KEYSLOT', '{deskmirror}'))
      const ranges = await redis.cluster('SLOTS')
      return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1] ?? 0
    })
  const host = options.tls === undefined ? '127.0.0.1' : 'localhost'
  const scheme = options.tls === undefined ? 'redis' : 'rediss'
  return {
    url: `${scheme}+cluster://${credentials}@${nodes.slice(0, 3).map(({ port }) => `${host}:${port}`)}`,
    ports: nodes.map(({ port }) => port),
    admin: connect,
    stop: async () => void (await Promise.all(servers.map((node) => node.stop()))),
    stopMaster: async () => kill(await masterPort()),
    killMaster: async () => {
      const port = await masterPort()
      await kill(port)
      dead.add(port)
      await until(async () => !dead.has(await masterPort()))
      await serving()
    },
    addReplica: async () => {
      const master = await masterPort()
      const node = await startNode()
      await meet(master, node)
      await replicate(node, servers.find(({ port }) => port === master)!.id)
      // Otherwise they would not vote for it.
      for (const { port } of alive()) await until(() => knowsAll(port))
    },
    keys: async () => {
      const found = await Promise.all(
        alive().map(({ port }) => at(port, (redis) => redis.keys('*'))),
      )
      return [...new Set(found.flat())].toSorted()
    },
  }
}

export async function startRedisSentinels(options: GroupOptions = {}): Promise<RedisGroup> {
  const { at, kill, isSynced, connect } = administer(options)
  const servers: RedisNode[] = []
  const startNode = async (master?: number) => {
    const replica = master === undefined ? {} : { replicaof: `127.0.0.1 ${master}` }
    const settings = { 'min-replicas-to-write': 1, 'min-replicas-max-lag': 10, ...replica }
    const node = await tryThreeTimes(() => startServer(options, settings))
    await at(node.port, (redis) => setUser(redis, 'deskmirror'))
    if (master !== undefined) await until(() => isSynced(node.port))
    servers.push(node)
    return node
  }
  const master = await startNode()
  await Promise.all([startNode(master.port), startNode(master.port)])
  const sentinels = await Promise.all(
    [1, 2, 3].map(() => tryThreeTimes(() => startSentinel(options, master.port))),
  )
  const dead = new Set<number>()
  const masterPort = () =>
    at(sentinels[0]!.port, async (redis) => {
      const found = await redis.call('SENTINEL', 'get-master-addr-by-name', 'mymaster')
      return Number((found as string[])[1])
    })
  /** Each sentinel knows the others, and the replicas that are alive. */
  const isKnown = async (replicas: number) => {
    const status = /status=ok,address=[\d.:]+,slaves=(\d+),sentinels=3/
    for (const { port } of sentinels)
      await until(() =>
        at(
          port,
          async (redis) => Number(status.exec(await redis.info('sentinel'))?.[1]) >= replicas,
        ),
      )
  }
  await isKnown(2)
  const scheme = options.tls === undefined ? 'redis' : 'rediss'
  const hosts = sentinels.map(
    ({ port }) => `${options.tls === undefined ? '127.0.0.1' : 'localhost'}:${port}`,
  )
  return {
    url: `${scheme}-sentinel://${credentials}@${hosts}/mymaster/0`,
    ports: servers.map(({ port }) => port),
    admin: connect,
    stop: async () => void (await Promise.all([...sentinels, ...servers].map((one) => one.stop()))),
    stopMaster: async () => kill(await masterPort()),
    killMaster: async () => {
      const port = await masterPort()
      await kill(port)
      dead.add(port)
      await until(async () => !dead.has(await masterPort()))
    },
    addReplica: async () => {
      await startNode(await masterPort())
      await isKnown(servers.length - 1)
    },
    keys: async () => (await at(await masterPort(), (redis) => redis.keys('*'))).toSorted(),
  }
}

async function startSentinel({ tls }: GroupOptions, master: number): Promise<RedisNode> {
  const owner = unprivilegedUser('redis', 'nobody')
  const folder = createServerFolder('sentinel', owner)
  const port = await freePort()
  sentinelPorts.add(port)
  const file = join(folder, 'sentinel.conf')
  const settings = Object.entries(networkSettings(folder, owner, port, tls))
  const lines = [
    ...settings.map(([name, value]) => `${name} ${value}`),
    `sentinel monitor mymaster 127.0.0.1 ${master} 2`,
    `sentinel auth-pass mymaster ${adminPassword}`,
    'sentinel down-after-milliseconds mymaster 1000',
    'sentinel failover-timeout mymaster 3000',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  if (owner !== undefined) chownSync(file, owner.uid, owner.gid)
  const stop = await startGuarded({
    command: [program(), file, '--sentinel'],
    folder,
    owner,
    signal: 'TERM',
    ready: /\+monitor master mymaster/,
  })
  return { port, stop }
}
