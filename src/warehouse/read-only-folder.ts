/**
 * A SQLite file in a folder that may not be written into: a write-ahead log needs files beside it,
 * which only a writer makes. Otherwise a copy is read: it is whole if there is no log and the file
 * did not change meanwhile.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { type Explanation, errorCode, systemErrorText, UserError } from '../values/user-error.ts'
import { isAllowed } from './error-tables.ts'
import { locationLabel, type SqliteLocation } from './location.ts'
import { isInMemory, resolveLinks, sideFile } from './warehouse-files.ts'

/** Of this process, by the file and its state. */
const copies = new Map<string, string>()

/** The file, or a copy until this process ends. Throws UserError if neither can be read. */
export function pathToRead(location: SqliteLocation): string {
  const { path } = location
  if (
    isInMemory(path) ||
    !existsSync(path) ||
    // Opening it says so.
    !isAllowed(path, constants.R_OK) ||
    isAllowed(dirname(resolveLinks(path)), constants.W_OK)
  )
    return path
  if (canBeOpened(path)) return path
  if (logSize(location) > 0) throw cannotRead(location, unreadableLog)
  const key = `${resolveLinks(path)} ${stateOf(path)}`
  const copy = copies.get(key) ?? copyOf(location)
  copies.set(key, copy)
  return copy
}

/** What else is wrong with the file is said when it is opened. */
function canBeOpened(path: string): boolean {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true })
    try {
      database.prepare('select 1 from sqlite_schema').get()
    } finally {
      database.close()
    }
    return true
  } catch (error) {
    return !/READONLY|CANTOPEN/.test(errorCode(error))
  }
}

function copyOf(location: SqliteLocation): string {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-'))
  removeAtEnd(folder)
  const copy = join(folder, 'copy.db')
  try {
    const before = stateOf(location.path)
    // On some file systems both share their bytes until one of them is written.
    copyFileSync(location.path, copy, constants.COPYFILE_FICLONE)
    chmodSync(copy, 0o600)
    if (stateOf(location.path) === before && logSize(location) === 0) return copy
    throw cannotRead(location, changedMeanwhile)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    const text = systemErrorText(error)
    if (text === undefined) throw error
    const why = `its folder is read-only, so it is copied to ${tmpdir()} first: ${text.why}`
    throw cannotRead(location, { ...text, why, next: `${text.next}; TMPDIR names another folder` })
  }
}

function logSize(location: SqliteLocation): number {
  return statSync(sideFile(location, 'log'), { throwIfNoEntry: false })?.size ?? 0
}

function stateOf(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
  return [dev, ino, size, mtimeNs].join(' ')
}

const unreadableLog = {
  why:
    'its folder is read-only, and its last changes are in the file -wal, ' +
    'which SQLite cannot read there',
  next:
    'run `deskmirror status` as a user that may write into the folder, which ends the log; ' +
    'or copy the file and its -wal to another folder',
  exitCode: 2,
} as const
const changedMeanwhile = {
  why: 'its folder is read-only, so it is copied first, and it changed meanwhile',
  next: 'try again',
  exitCode: 1,
} as const

function cannotRead(location: SqliteLocation, text: Explanation): UserError {
  return new UserError({ what: `cannot read the warehouse ${locationLabel(location)}`, ...text })
}

const folders = new Set<string>()

/** Also when a signal ends the process, unless something else waits for that signal. */
function removeAtEnd(folder: string): void {
  if (folders.size === 0) {
    process.on('exit', removeCopies)
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, endUnlessHandled)
  }
  folders.add(folder)
}

function removeCopies(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

function endUnlessHandled(name: NodeJS.Signals): void {
  if (process.listenerCount(name) > 1) return
  removeCopies()
  process.removeAllListeners(name).kill(process.pid, name)
}
