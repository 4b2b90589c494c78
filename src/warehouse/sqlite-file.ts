/** The file of a database: who may read it, and whether it is the one that was opened. */
import { chownSync, closeSync, openSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { errorCode } from '../values/user-error.ts'
import { parseDatabaseUrl } from './location.ts'
import { filesOfWarehouse, isInMemory, sideFile } from './warehouse-files.ts'

/** Creates a missing file, for this user only. SQLite gives its journal files the same mode. */
export function createPrivateFile(path: string): void {
  if (isInMemory(path)) return
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch {
    // It exists, or cannot be created: then SQLite's error has more detail.
  }
}

/**
 * What root creates beside a file belongs to the file's owner, as with SQLite's journals: else the
 * service could not use it after a person has run a command as root.
 */
export function giveToOwnerOf(file: string, path: string): void {
  if (process.getuid?.() !== 0) return
  try {
    const { uid, gid } = statSync(file)
    chownSync(path, uid, gid)
  } catch {
    // There is no such file, or a container takes the right from root.
  }
}

/**
 * Until the returned function is called or the process ends. Null: another process has locked it. A
 * lock of the operating system, through SQLite, works between containers that share a folder.
 */
export function lockFile(path: string, beside: string): (() => void) | null {
  if (isInMemory(path)) return () => {}
  createPrivateFile(path)
  giveToOwnerOf(beside, path)
  const file = new Database(path, { timeout: 0 })
  try {
    // Nothing is ever written, so no journal is needed.
    file.exec('pragma journal_mode = memory; begin exclusive')
    return () => file.close()
  } catch (error) {
    file.close()
    if (errorCode(error) === 'SQLITE_BUSY') return null
    throw error
  }
}

/**
 * An open file can be removed or replaced: writes then go to the old one, and are lost without an
 * error. The check throws an error with a `code`.
 */
export function createFileCheck(path: string): () => void {
  const first = isInMemory(path) ? undefined : statSync(path, { throwIfNoEntry: false })
  return () => {
    if (first === undefined) return
    const now = statSync(path, { throwIfNoEntry: false })
    if (now !== undefined && now.ino === first.ino && now.dev === first.dev) return
    const code = now === undefined ? 'FILE_GONE' : 'FILE_REPLACED'
    throw Object.assign(new Error('the database file is not the one that was opened'), { code })
  }
}

/** Its pages go into the file while no reader still needs what was there before. */
const largeLogBytes = 128 * 2 ** 20

/**
 * A sentence if the write-ahead log is large, as a reader keeps SQLite from emptying it, or null.
 */
export function describeLargeLog(databaseUrl: string, limitBytes = largeLogBytes): string | null {
  const location = parseDatabaseUrl(databaseUrl)
  if (location.kind !== 'sqlite') return null
  const path = sideFile(location, 'log')
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (bytes <= limitBytes) return null
  return (
    `${path} has ${Math.round(bytes / 2 ** 20)} MB and grows, because a query has read the ` +
    'database for long: end it, or let it read a copy'
  )
}

/**
 * The SQLite file and what is beside it, if other users of the machine may read customers' data.
 * That may be intended. `mode`: `644`, as `chmod` takes it.
 */
export function findExposedFiles(databaseUrl: string) {
  const location = parseDatabaseUrl(databaseUrl)
  if (location.kind !== 'sqlite' || process.platform === 'win32') return []
  const { database, beside } = filesOfWarehouse(location)
  return [database ?? [], ...beside].flat().flatMap((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & 0o077) === 0 ? [] : [{ path, mode: (mode & 0o777).toString(8) }]
  })
}
