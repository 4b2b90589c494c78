/** A private Postgres: from what is installed, else installed for the purpose where that can be done. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { installPostgres } from './install.ts'
import { findProgram, freePort, guard, ownFolder, type Server, threeTimes, unprivileged } from './server.ts'

export type { Server } from './server.ts'

/** Debian, Red Hat, Homebrew, source. */
const folders = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/opt/homebrew/opt/postgresql@*/bin',
  '/usr/local/pgsql/bin',
]

const password = 'only for tests'

export async function startPostgres(): Promise<Server> {
  const initdb = findProgram('initdb', folders) ?? (await installPostgres(() => findProgram('initdb', folders)))
  return threeTimes(() => start(dirname(initdb)))
}

async function start(programs: string): Promise<Server> {
  const owner = unprivileged('postgres', 'nobody')
  const folder = ownFolder('postgres', owner)
  const data = join(folder, 'data')
  writeFileSync(join(folder, 'password'), password, { mode: 0o644 })
  execFileSync(
    join(programs, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'deskmirror',
      '-A',
      'scram-sha-256',
      `--pwfile=${join(folder, 'password')}`,
      '-E',
      'UTF8',
      '--no-sync',
    ],
    { cwd: folder, stdio: 'pipe', env: { ...process.env, LC_ALL: 'C' }, ...owner },
  )
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    // It need not outlive the tests.
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: 200,
    shared_buffers: '64MB',
  }
  const command = [join(programs, 'postgres'), '-D', data]
  for (const [name, value] of Object.entries(settings)) command.push('-c', `${name}=${value}`)
  const stop = await guard({ command, folder, owner, signal: 'INT', ready: /ready to accept connections/ })
  return { url: `postgres://deskmirror:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`, stop }
}
