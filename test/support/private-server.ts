/**
 * Private servers for the tests: each has a free port and its own folder, and ends with this
 * process.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import { fastFolder } from './fast-folder.ts'

export type Server = { readonly url: string; readonly stop: () => Promise<void> }

/** The user that a server runs as, as Postgres refuses root. Undefined: the current user. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined

export function unprivilegedUser(...names: readonly string[]): ServerUser {
  if (process.getuid?.() !== 0) return undefined
  for (const name of names) {
    try {
      const ask = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
      return { uid: ask('-u'), gid: ask('-g') }
    } catch {
      // There is no such user: try the next one.
    }
  }
  throw new Error(
    `the tests run as root, and none of the users ${names.join(', ')} exists to run a server as`,
  )
}

export function createServerFolder(name: string, owner: ServerUser): string {
  const folder = mkdtempSync(join(fastFolder(), `deskmirror-${name}-`))
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  return folder
}

/**
 * A program in the folders (`*` = the newest of several versions) or on the path; undefined if
 * there is none.
 */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter)
  return [...folders.flatMap(expandVersions), ...path]
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))
}

function expandVersions(folder: string): string[] {
  const [before = '', after] = folder.split('*')
  if (after === undefined) return [folder]
  if (!existsSync(before)) return []
  const versions = readdirSync(before).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  return versions.map((version) => `${before}${version}${after}`)
}

/**
 * A port that is free now, below those that systems give to connections and to servers that name
 * none. If another process takes it meanwhile, the start fails and is tried again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    const probe = createServer()
    const isFree = await new Promise<boolean>((done) => {
      probe.once('error', () => done(false))
      probe.listen(port, '127.0.0.1', () => done(true))
    })
    if (!isFree) continue
    await new Promise((done) => probe.close(done))
    return port
  }
}

/**
 * The server runs under a shell that waits until this process closes its end of a pipe. Then it
 * stops the server and removes the folder, so nothing is left behind even if this process is
 * killed. The server does not inherit the ignored signals, so that one ends that has not started.
 */
const guardScript = `trap '' INT TERM
folder=$1 signal=$2; shift 2
(trap - INT TERM; exec "$@") & server=$!
read -r _
kill -s "$signal" $server; wait $server
rm -rf "$folder"`

export type ServerProgram = {
  readonly command: readonly string[]
  readonly folder: string
  readonly owner: ServerUser
  /** Stops it at once and cleanly. */
  readonly signal: 'INT' | 'TERM'
  /** Its output when it is ready. */
  readonly ready: RegExp
}

/**
 * Resolves to a stop function when the server is ready. Rejects with its output when it ends
 * before.
 */
export async function startGuarded(program: ServerProgram): Promise<() => Promise<void>> {
  const { command, folder, owner, signal } = program
  const child = spawn('/bin/sh', ['-c', guardScript, 'sh', folder, signal, ...command], {
    cwd: folder,
    stdio: 'pipe',
    ...owner,
  })
  const exited = new Promise<void>((done) => child.once('exit', () => done()))
  const stop = async () => {
    child.ref()
    child.stdin.end()
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await waitUntilReady(child, program.ready)
    // A server that nobody stops must not keep this process alive.
    child.unref()
    for (const stream of [child.stdin, child.stdout, child.stderr])
      if (stream instanceof Socket) stream.unref()
    return stop
  } catch (error) {
    await stop()
    throw error
  }
}

function waitUntilReady(child: ChildProcess, ready: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const onOutput = (chunk: Buffer) => {
      output += chunk
      if (ready.test(output)) resolve()
      if (startFailure.test(output)) reject(new Error(`the server did not start:\n${output}`))
    }
    child.stdout?.on('data', onOutput)
    child.stderr?.on('data', onOutput)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`the server ended:\n${output}`)))
  })
}

/** A restarting Postgres rejects waiting clients with FATAL, which is not a failed start. */
const startFailure =
  /FATAL(?!: +the database system is)|Failed listening|not found|Permission denied|No such file/

/** A free port may be taken before the server opens it. */
export async function tryThreeTimes<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start()
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}
