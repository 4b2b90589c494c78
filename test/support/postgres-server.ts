/** A private Postgres server. Uses the installed programs, or installs them if possible. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { installPostgres } from './install-servers.ts'
import {
  createServerFolder,
  findProgram,
  freePort,
  type Server,
  startGuarded,
  tryThreeTimes,
  unprivilegedUser,
} from './private-server.ts'

/** Debian, Red Hat, Homebrew, source. */
const folders = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/opt/homebrew/opt/postgresql@*/bin',
  '/usr/local/pgsql/bin',
]

const password = 'only for tests'

export async function startPostgres(): Promise<Server> {
  return tryThreeTimes(async () => start(await findPrograms(), testSettings))
}

/**
 * A server that a test may crash: never the one of DESKMIRROR_TEST_POSTGRES_URL. Commits survive
 * crashes.
 */
export type PrivatePostgres = Server & {
  /**
   * An `immediate` stop, like a power failure. Resolves when it serves again. `whileDown` runs in
   * between.
   */
  readonly crash: (whileDown?: () => Promise<void>) => Promise<void>
  /**
   * `kill -9` of its main process, which leaves the others to notice it. Resolves when it serves
   * again.
   */
  readonly kill: (whileDown?: () => Promise<void>) => Promise<void>
}

export async function startPrivatePostgres(
  settings: ServerSettings = {},
): Promise<PrivatePostgres> {
  return tryThreeTimes(async () => start(await findPrograms(), settings))
}

type ServerSettings = Readonly<Record<string, string | number>>

/** The folder of the programs of Postgres. */
export async function findPrograms(): Promise<string> {
  const initdb =
    findProgram('initdb', folders) ?? (await installPostgres(() => findProgram('initdb', folders)))
  return dirname(initdb)
}

/**
 * Its data need not survive the tests, and compiling queries takes longer than running them on a
 * few rows.
 */
const testSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  autovacuum: 'off',
  jit: 'off',
}

async function start(programs: string, moreSettings: ServerSettings): Promise<PrivatePostgres> {
  const owner = unprivilegedUser('postgres', 'nobody')
  const folder = createServerFolder('postgres', owner)
  const data = join(folder, 'data')
  writeFileSync(join(folder, 'password'), password, { mode: 0o644 })
  execFileSync(
    join(programs, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'deskmirror',
      // The tests connect thousands of times, and SCRAM takes milliseconds each.
      '-A',
      'md5',
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
    ...moreSettings,
    max_connections: 300,
    shared_buffers: '64MB',
  }
  const command = [join(programs, 'postgres'), '-D', data]
  for (const [name, value] of Object.entries(settings)) command.push('-c', `${name}=${value}`)
  const serve = () =>
    startGuarded({ command, folder, owner, signal: 'INT', ready: /ready to accept connections/ })
  const pidFile = join(data, 'postmaster.pid')
  const mainPid = () => Number(readFileSync(pidFile, 'utf8').split('\n')[0])
  const stops = [await serve()]
  return {
    url: `postgres://deskmirror:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    stop: async () => {
      for (const stop of stops.toReversed()) await stop()
    },
    crash: async (whileDown = async () => {}) => {
      const pid = mainPid()
      process.kill(pid, 'SIGQUIT')
      while (existsSync(pidFile) && isRunning(pid)) await sleep(10)
      await whileDown()
      stops.push(await serve())
    },
    kill: async (whileDown = async () => {}) => {
      const pid = mainPid()
      const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], {
        encoding: 'utf8',
      })
      process.kill(pid, 'SIGKILL')
      for (const one of [pid, ...children.trim().split(/\s+/).map(Number)])
        while (isRunning(one)) await sleep(10)
      // Nobody has waited for the killed process, so Postgres would take it for one that still
      // runs.
      for (const file of [pidFile, join(folder, `.s.PGSQL.${port}.lock`)]) rmSync(file)
      await whileDown()
      stops.push(await serve())
    },
  }
}

/** A process that was killed and that nobody has waited for does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
