/** Explains errors of SQLite. Source: sqlite.org/rescode.html. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ErrorExplanation, ExplanationTable } from './error-explanation.ts'

const orAnotherPath = 'or set DESKMIRROR_DATABASE_URL to another path'

/** What is wrong with the path itself, which says more than SQLite's code; undefined if nothing is. */
export function explainSqlitePath(path: string, code: string): ErrorExplanation | undefined {
  const folder = dirname(resolve(path))
  if (!existsSync(folder)) {
    return { why: `the folder ${folder} does not exist`, next: `create the folder, ${orAnotherPath}`, exitCode: 2 }
  }
  if (existsSync(path) && statSync(path).isDirectory()) {
    return { why: 'it is a folder', next: `name a file in it: sqlite:${path}/deskmirror.db`, exitCode: 2 }
  }
  if (/CANTOPEN|READONLY|PERM|^E/.test(code) && existsSync(path) && !isAllowed(path, constants.R_OK)) {
    return {
      why: 'this user has no permission to read it',
      next: `run as the user that owns the file, ${orAnotherPath}`,
      exitCode: 2,
    }
  }
  if (code === 'SQLITE_CANTOPEN' && !existsSync(path) && isAllowed(folder, constants.W_OK)) {
    return {
      why: 'the file does not exist, or cannot be created',
      next: 'run `deskmirror sync`, or make the folder writable',
      exitCode: 2,
    }
  }
  return undefined
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

export const sqliteExplanations: ExplanationTable = [
  [
    /^no such table/,
    {
      why: 'one of its tables is missing',
      next: 'restore the warehouse from a backup, or move it away and sync again',
      exitCode: 2,
    },
  ],
  [
    /^FILE_(GONE|REPLACED)/,
    {
      why: 'the file was moved, removed or replaced while it was in use; what was written since then is not in it',
      next: 'restore the right file, and run the command again',
      exitCode: 1,
    },
  ],
  [
    /bindings file|ERR_DLOPEN_FAILED|MODULE_NOT_FOUND/,
    {
      why: 'the SQLite driver (better-sqlite3) is not installed for this system and this Node.js',
      next: 'install deskmirror again on this machine: npm ci',
      exitCode: 2,
    },
  ],
  [
    /READONLY|CANTOPEN|PERM|AUTH|EACCES|EPERM|EROFS/,
    {
      why: 'it cannot be written to',
      next: `make the file and its folder writable for this user, ${orAnotherPath}`,
      exitCode: 2,
    },
  ],
  [
    /NOTADB/,
    { why: 'the file is not a SQLite database', next: 'set DESKMIRROR_DATABASE_URL to another path', exitCode: 2 },
  ],
  [
    /CORRUPT/,
    { why: 'the file is damaged', next: 'restore it from a backup, or move it away and sync again', exitCode: 2 },
  ],
  [
    /BUSY|LOCKED/,
    { why: 'another process has locked it', next: 'wait until that process is done, and try again', exitCode: 1 },
  ],
  [/FULL|ENOSPC|EDQUOT/, { why: 'the disk is full', next: 'free space on the disk, and try again', exitCode: 1 }],
  [
    /IOERR|EIO/,
    { why: 'the disk is full or faulty', next: 'free space on the disk, or check it, and try again', exitCode: 1 },
  ],
  [
    /NOMEM|EMFILE|ENFILE/,
    {
      why: 'this process is out of memory, or has too many files open',
      next: 'raise its limits (`ulimit -n`, the memory of the container), and try again',
      exitCode: 1,
    },
  ],
  [/TOOBIG/, { why: 'a row is larger than SQLite can hold (1 GB)', next: 'please report this', exitCode: 2 }],
]

/** Errors of the disk, the file or another process, as opposed to errors of a statement. */
export const sqliteExternalErrors =
  /^no such table|^SQLITE_(FULL|IOERR|CORRUPT|READONLY|BUSY|LOCKED|NOTADB|CANTOPEN|PERM|AUTH|NOMEM|TOOBIG)|^FILE_/

/** Errors that pass by waiting. */
export const sqliteTransientErrors = /^SQLITE_(BUSY|LOCKED)/
