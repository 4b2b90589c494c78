/** A private Redis server. Uses the installed program, or installs it if possible. */
import { Redis } from 'ioredis'
import { installRedis } from './install-servers.ts'
import {
  createServerFolder,
  findProgram,
  freePort,
  type Server,
  startGuarded,
  tryThreeTimes,
  unprivilegedUser,
} from './private-server.ts'

const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/** The server of DESKMIRROR_TEST_REDIS_URL, or else a private one that stores nothing on disk. */
export async function startRedis(): Promise<Server> {
  const configuredUrl = process.env['DESKMIRROR_TEST_REDIS_URL']
  return configuredUrl === undefined
    ? startPrivateRedis({ durable: false })
    : { url: configuredUrl, stop: async () => {} }
}

/** A server that a test may crash: never the one of DESKMIRROR_TEST_REDIS_URL. */
export type PrivateRedis = Server & {
  /** Like `kill -9`. Resolves when it serves again, with the data on disk if it is durable. */
  readonly crash: () => Promise<void>
  /** FLUSHALL. */
  readonly flush: () => Promise<void>
}

type RedisOptions = {
  readonly durable: boolean
  readonly settings?: Readonly<Record<string, string | number>>
}

export async function startPrivateRedis(options: RedisOptions): Promise<PrivateRedis> {
  const program =
    findProgram('redis-server', folders) ??
    (await installRedis(() => findProgram('redis-server', folders)))
  const server = await tryThreeTimes(() => start(program, options))
  return {
    ...server,
    crash: async () => {
      await runAsAdmin(server, 0, (redis) => redis.call('DEBUG', 'CRASH-AND-RECOVER', '0')).catch(
        () => {},
      )
      await runAsAdmin(server, null, (redis) => redis.ping())
    },
    flush: () => runAsAdmin(server, 0, (redis) => redis.flushall()),
  }
}

/** `maxRetriesPerRequest`: null = retries until the server is back. */
async function runAsAdmin(
  server: Server,
  maxRetriesPerRequest: number | null,
  work: (redis: Redis) => Promise<unknown>,
) {
  const redis = new Redis(server.url, { maxRetriesPerRequest })
  redis.on('error', () => {})
  await work(redis).finally(() => redis.disconnect())
}

async function start(
  program: string,
  { durable, settings: more = {} }: RedisOptions,
): Promise<Server> {
  const owner = unprivilegedUser('redis', 'nobody')
  const folder = createServerFolder('redis', owner)
  const port = await freePort()
  const settings = {
    bind: '127.0.0.1',
    port,
    dir: folder,
    save: '',
    appendonly: durable ? 'yes' : 'no',
    // With `everysec`, Redis answers before it writes: a crash would lose what the tests expect on
    // disk.
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    'enable-debug-command': 'yes',
    ...more,
  }
  const command = [
    program,
    ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
  ]
  const stop = await startGuarded({
    command,
    folder,
    owner,
    signal: 'TERM',
    ready: /Ready to accept connections/i,
  })
  return { url: `redis://127.0.0.1:${port}`, stop }
}
