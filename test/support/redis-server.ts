/** A private Redis: from what is installed, else installed where that can be done. */
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

/** The server that DESKMIRROR_TEST_REDIS_URL names, else one of our own that keeps nothing on disk. */
export async function startRedis(): Promise<Server> {
  const given = process.env['DESKMIRROR_TEST_REDIS_URL']
  return given === undefined ? startPrivateRedis({ durable: false }) : { url: given, stop: async () => {} }
}

/** One that may be mistreated: never the one that somebody named. */
export type PrivateRedis = Server & {
  /** As after `kill -9`. Resolves when it serves again: with what it had written to its disk if it is durable. */
  readonly crash: () => Promise<void>
  /** FLUSHALL. */
  readonly flush: () => Promise<void>
}

export async function startPrivateRedis({ durable }: { readonly durable: boolean }): Promise<PrivateRedis> {
  const program =
    findProgram('redis-server', folders) ?? (await installRedis(() => findProgram('redis-server', folders)))
  const server = await tryThreeTimes(() => start(program, durable))
  return {
    ...server,
    crash: async () => {
      await runAsAdmin(server, 0, (redis) => redis.call('DEBUG', 'CRASH-AND-RECOVER', '0')).catch(() => {})
      await runAsAdmin(server, null, (redis) => redis.ping())
    },
    flush: () => runAsAdmin(server, 0, (redis) => redis.flushall()),
  }
}

/** `maxRetriesPerRequest`: null = until it is there again. */
async function runAsAdmin(
  server: Server,
  maxRetriesPerRequest: number | null,
  work: (redis: Redis) => Promise<unknown>,
) {
  const redis = new Redis(server.url, { maxRetriesPerRequest })
  redis.on('error', () => {})
  await work(redis).finally(() => redis.disconnect())
}

async function start(program: string, durable: boolean): Promise<Server> {
  const owner = unprivilegedUser('redis', 'nobody')
  const folder = createServerFolder('redis', owner)
  const port = await freePort()
  const settings = {
    bind: '127.0.0.1',
    port,
    dir: folder,
    save: '',
    appendonly: durable ? 'yes' : 'no',
    // While the disk is busy, Redis answers before it writes: a crash would lose what the tests say is kept.
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    'enable-debug-command': 'yes',
  }
  const command = [program, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])]
  const stop = await startGuarded({ command, folder, owner, signal: 'TERM', ready: /Ready to accept connections/i })
  return { url: `redis://127.0.0.1:${port}`, stop }
}
