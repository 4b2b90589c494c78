/** The folder of the embedded store: locked by one process at a time; broken data is moved aside, not deleted. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { rfc3339 } from '../../../src/core/time.ts'
import { UserError } from '../../../src/core/user-error.ts'
import { parseDatabaseUrl } from '../../../src/warehouse/database/location.ts'
import { bootId, currentProcess, type ProcessIdentity } from '../../../src/warehouse/database/process-identity.ts'

/** Next to the SQLite file, so that both are moved together; otherwise in the working folder. */
export function embeddedQueueFolder(databaseUrl: string): string {
  const location = parseDatabaseUrl(databaseUrl)
  return location.kind === 'sqlite' && !location.path.startsWith(':') ? `${location.path}-queue` : 'deskmirror-queue'
}

const newPrefix = 'data-new-'

export type LockedFolder = ReturnType<typeof lockFolder>

/**
 * Two processes on the same data would destroy it. SQLite provides the operating system's file lock: it ends with its
 * process, works between containers that share a folder, and does not depend on process ids. Throws UserError.
 */
export function lockFolder(folder: string) {
  const dataFolder = join(folder, 'data')
  const { wasInterrupted, release } = acquireLock(folder)
  return {
    dataFolder,
    /** Whether there is data of an earlier process. */
    hasData: () => existsSync(dataFolder),
    /** Deletes data that an earlier version created: it would always be three times as large. */
    discardOutdatedData: () => {
      if (hasLargeLogFiles(dataFolder)) rmSync(dataFolder, { recursive: true })
    },
    /**
     * Deletes data that was in use when the machine stopped: what had not reached the disk is missing, and it may contradict
     * itself without being broken. Returns whether there was any.
     */
    discardIncompleteData: () => {
      if (!existsSync(dataFolder) || !wasInterrupted) return false
      rmSync(dataFolder, { recursive: true })
      return true
    },
    /** `create` makes the data in a folder, which is the store's once it is complete. */
    createData: async (create: (newDataFolder: string) => Promise<void>) => {
      for (const name of readdirSync(folder).filter((name) => name.startsWith(newPrefix)))
        rmSync(join(folder, name), { recursive: true, force: true })
      // A name of its own: an earlier process may have been killed, and what it started may still be writing.
      const newDataFolder = join(folder, newPrefix + process.pid)
      await create(newDataFolder)
      renameSync(newDataFolder, dataFolder)
    },
    /** Moves the data aside, and returns its new path. */
    moveAside: () => {
      const target = join(folder, `broken-${rfc3339(Math.floor(Date.now() / 1000)).replaceAll(':', '')}-${process.pid}`)
      renameSync(dataFolder, target)
      return target
    },
    release,
  }
}

/** By default Postgres writes its log into files of 16 MB; ours have 1 MB. The size is fixed when the data is created. */
function hasLargeLogFiles(dataFolder: string): boolean {
  const logFolder = join(dataFolder, 'pg_wal')
  if (!existsSync(logFolder)) return false
  return readdirSync(logFolder).some((name) => statSync(join(logFolder, name)).size > 1024 * 1024)
}

/** `wasInterrupted`: the machine stopped while the lock was held. A process that was killed interrupts nothing: its writes are kept. */
function acquireLock(folder: string) {
  const holderFile = join(folder, 'holder.json')
  try {
    mkdirSync(folder, { recursive: true })
    const file = new Sqlite(join(folder, 'lock'), { timeout: 0 })
    file.exec('begin exclusive')
    const wasInterrupted = existsSync(holderFile) && !isOfThisBoot(readHolder(folder))
    writeFileSync(holderFile, JSON.stringify(currentProcess()))
    const release = () => {
      rmSync(holderFile, { force: true })
      file.close()
    }
    return { wasInterrupted, release }
  } catch (error) {
    throw toUserError(folder, error)
  }
}

function isOfThisBoot(holder: ProcessIdentity | null): boolean {
  return holder?.process?.startsWith(bootId()) === true
}

function toUserError(folder: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const what = `cannot use the embedded queue in ${folder}`
  if (error.code === 'SQLITE_BUSY') {
    const next = 'let one process run at a time, or set DESKMIRROR_QUEUE_URL to a Redis or Postgres that many can share'
    return new UserError({ what, why: `${lockHolder(folder)} uses it`, next, exitCode: 1 })
  }
  return new UserError({ what, why: error.message, next: 'make the folder writable for this user', exitCode: 2 })
}

/** For the message only; the holder of the lock may have changed in between. */
function lockHolder(folder: string): string {
  const holder = readHolder(folder)
  return holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`
}

/** Null: nobody holds the lock, or the file is incomplete. */
function readHolder(folder: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'holder.json'), 'utf8'))
  } catch {
    return null
  }
}
