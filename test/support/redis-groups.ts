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
  startGuarded,
  unprivilegedUser,
} from './private-server.ts'

/** What they demand of all who connect. `url` has it. */
const login = { username: 'app', password: 'p@ss/word' }
const credentials = `${login.username}:${encodeURIComponent(login.password)}`
/** The user has no more rights than the guide gives it. */
const acl = (prefix: string) => `on >${login.password} ~${prefix}:* +@all -@dangerous +info`

export type RedisGroup = Server & {
  /** Of each server, without the password. */
  readonly ports: readonly number[]
  /** Kills the master of our keys, and resolves when another one has taken its place. */
  readonly killMaster: () => Promise<void>
  /** All keys of all masters. */
  readonly keys: () => Promise<readonly string[]>
  /** What an administrator may do, at one of the servers. */
  readonly admin: (port: number) => Redis
}

type RedisNode = { readonly port: number; readonly stop: () => Promise<void> }

export type GroupOptions = {
  /** Settings of all servers, like those of TLS. */
  readonly settings?: Readonly<Record<string, string | number>>
}

async function startServer(
  settings: Readonly<Record<string, string | number>>,
  own: (port: number, folder: string) => Readonly<Record<string, string | number>>,
): Promise<RedisNode> {
  const owner = unprivilegedUser('redis', 'nobody')
  const folder = createServerFolder('redis', owner)
  const port = await freePort()
  const all = {
    bind: '127.0.0.1',
    port,
    dir: folder,
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    'repl-diskless-sync-delay': 0,
    ...settings,
    ...own(port, folder),
  }
  const stop = await startGuarded({
    command: [
      program(),
      ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ],
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

const adminOf = (port: number) =>
  new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 3 }).on('error', () => {})

/** Runs `work` as an administrator. */
async function at<T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = adminOf(port)
  return work(redis).finally(() => redis.disconnect())
}

/** Like `kill -9`: nothing is passed on to replicas any more. */
const kill = (port: number) =>
  at(port, async (redis) => {
    const [, pid = ''] = /process_id:(\d+)/.exec(await redis.info('server')) ?? []
    process.kill(Number(pid), 'SIGKILL')
  })

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition().catch(() => false))) await sleep(50)
}

export async function startRedisCluster({ settings = {} }: GroupOptions = {}): Promise<RedisGroup> {
  const busPorts = await Promise.all(Array.from({ length: 6 }, freePort))
  const nodes = await Promise.all(
    busPorts.map((busPort) =>
      startServer(settings, () => ({
        'cluster-enabled': 'yes',
        'cluster-port': busPort,
        'cluster-node-timeout': 1000,
        'cluster-replica-validity-factor': 0,
      })),
    ),
  )
  const ports = nodes.map(({ port }) => port)
  const [first = 0, ...others] = ports
  await at(first, async (redis) => {
    for (const [index, port] of others.entries())
      await redis.cluster('MEET', '127.0.0.1', port, busPorts[index + 1]!)
  })
  const ids = await Promise.all(ports.map((port) => at(port, (redis) => redis.cluster('MYID'))))
  for (const [index, [from, to]] of [
    [0, 5460],
    [5461, 10_922],
    [10_923, 16_383],
  ].entries())
    await at(ports[index]!, (redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', from!, to!))
  for (const index of [0, 1, 2])
    await until(async () => {
      await at(ports[index + 3]!, (redis) => redis.cluster('REPLICATE', String(ids[index])))
      return true
    })
  const isWhole = (port: number) =>
    at(port, async (redis) => {
      const info = await redis.cluster('INFO')
      const nodes = String(await redis.cluster('NODES'))
      return String(info).includes('cluster_state:ok') && nodes.split('slave ').length === 4
    })
  for (const port of ports) await until(() => isWhole(port))
  for (const port of ports.slice(3))
    await until(() =>
      at(port, async (redis) =>
        (await redis.info('replication')).includes('master_link_status:up'),
      ),
    )
  for (const port of ports)
    await at(port, (redis) =>
      redis.acl('SETUSER', login.username, ...acl('{deskmirror}').split(' ')),
    )
  const dead = new Set<number>()
  const alive = () => ports.filter((port) => !dead.has(port))
  /** The port of the master of our keys, as the first one that answers knows it. */
  const masterPort = () =>
    at(alive()[0]!, async (redis) => {
      const slot = Number(await redis.cluster('KEYSLOT', '{deskmirror}'))
      const ranges = await redis.cluster('SLOTS')
      return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1] ?? 0
    })
  return {
    url: `redis+cluster://${credentials}@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}`,
    ports,
    admin: adminOf,
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
    killMaster: async () => {
      const port = await masterPort()
      await kill(port)
      dead.add(port)
      await until(async () => !dead.has(await masterPort()))
      for (const other of alive())
        await until(() =>
          at(other, async (redis) =>
            String(await redis.cluster('INFO')).includes('cluster_state:ok'),
          ),
        )
    },
    keys: async () => {
      const found = await Promise.all(alive().map((port) => at(port, (redis) => redis.keys('*'))))
      return [...new Set(found.flat())].toSorted()
    },
  }
}

export async function startRedisSentinels({
  settings = {},
}: GroupOptions = {}): Promise<RedisGroup> {
  const master = await startServer(settings, () => ({}))
  const replicas = await Promise.all(
    [1, 2].map(() => startServer(settings, () => ({ replicaof: `127.0.0.1 ${master.port}` }))),
  )
  const servers = [master, ...replicas]
  const ports = servers.map(({ port }) => port)
  for (const port of ports) {
    await at(port, (redis) => redis.acl('SETUSER', login.username, ...acl('deskmirror').split(' ')))
    if (port !== master.port)
      await until(() =>
        at(port, async (redis) =>
          (await redis.info('replication')).includes('master_link_status:up'),
        ),
      )
  }
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(master.port)))
  const sentinelPorts = sentinels.map(({ port }) => port)
  const dead = new Set<number>()
  const masterPort = () =>
    at(sentinelPorts[0]!, async (redis) => {
      const [, port] = (await redis.call(
        'SENTINEL',
        'get-master-addr-by-name',
        'mymaster',
      )) as string[]
      return Number(port)
    })
  // Then they know each other, and the replicas.
  for (const port of sentinelPorts)
    await until(() =>
      at(port, async (redis) =>
        /status=ok,address=[\d.:]+,slaves=2,sentinels=3/.test(await redis.info('sentinel')),
      ),
    )
  return {
    url: `redis-sentinel://${credentials}@${sentinelPorts.map((port) => `127.0.0.1:${port}`).join(',')}/mymaster/0`,
    ports,
    admin: adminOf,
    stop: async () => void (await Promise.all([...sentinels, ...servers].map((one) => one.stop()))),
    killMaster: async () => {
      const port = await masterPort()
      await kill(port)
      dead.add(port)
      await until(async () => !dead.has(await masterPort()))
    },
    keys: async () => at(await masterPort(), (redis) => redis.keys('*')),
  }
}

async function startSentinel(masterPort: number): Promise<RedisNode> {
  const owner = unprivilegedUser('redis', 'nobody')
  const folder = createServerFolder('sentinel', owner)
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor mymaster 127.0.0.1 ${masterPort} 2`,
    'sentinel down-after-milliseconds mymaster 1000',
    'sentinel failover-timeout mymaster 3000',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o666 })
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
