/** A private Redis that keeps nothing on disk: from what is installed, else installed where that can be done. */
import { installRedis } from './install.ts'
import { findProgram, freePort, guard, ownFolder, type Server, threeTimes, unprivileged } from './server.ts'

const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/** The server that DESKMIRROR_TEST_REDIS_URL names, else one of our own. */
export async function startRedis(): Promise<Server> {
  const given = process.env['DESKMIRROR_TEST_REDIS_URL']
  if (given !== undefined) return { url: given, stop: async () => {} }
  const program =
    findProgram('redis-server', folders) ?? (await installRedis(() => findProgram('redis-server', folders)))
  return threeTimes(() => start(program))
}

async function start(program: string): Promise<Server> {
  const owner = unprivileged('redis', 'nobody')
  const folder = ownFolder('redis', owner)
  const port = await freePort()
  const settings = {
    bind: '127.0.0.1',
    port,
    dir: folder,
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
  }
  const command = [program, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])]
  const stop = await guard({ command, folder, owner, signal: 'TERM', ready: /Ready to accept connections/i })
  return { url: `redis://127.0.0.1:${port}`, stop }
}
