/** Explains errors of SQLite. Source: sqlite.org/rescode.html. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type ErrorExplanation, type ExplanationTable, fixFirst, tryAgain } from './error-explanation.ts'

/** What is wrong with the path itself, which says more than SQLite's code; undefined if nothing is. `setting`: where it is from. */
export function explainSqlitePath(path: string, code: string, setting: string): ErrorExplanation | undefined {
  const folder = dirname(resolve(path))
  if (!existsSync(folder)) {
    return {
      why: `the folder ${folder} does not exist`,
      next: `create the folder, or name another path in ${setting}`,
      exitCode: 2,
    }
  }
  if (existsSync(path) && statSync(path).isDirectory()) {
    return { why: 'it is a folder', next: `name a file in it: sqlite:${path}/deskmirror.db`, exitCode: 2 }
  }
  if (/CANTOPEN|READONLY|PERM|^E/.test(code) && existsSync(path) && !isAllowed(path, constants.R_OK)) {
    return {
      why: 'this user has no permission to read it',
      next: `run as the user that owns the file, or name another path in ${setting}`,
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

/** `setting`: where the path is from. */
export const sqliteExplanations = (setting: string): ExplanationTable => [
  fixFirst(
    /^no such table/,
    'one of its tables is missing',
    'restore the warehouse from a backup, or move it away and sync again',
  ),
  tryAgain(
    /^FILE_(GONE|REPLACED)/,
    'the file was moved, removed or replaced while it was in use; what was written since then is not in it',
    'restore the right file, and start deskmirror again',
  ),
  fixFirst(
    /bindings file|ERR_DLOPEN_FAILED|MODULE_NOT_FOUND/,
    'the SQLite driver (better-sqlite3) is not installed for this system and this Node.js',
    'install deskmirror again on this machine: npm ci',
  ),
  fixFirst(
    /READONLY|CANTOPEN|PERM|AUTH|EACCES|EPERM|EROFS/,
    'it cannot be written to',
    `make the file and its folder writable for this user, or name another path in ${setting}`,
  ),
  fixFirst(/NOTADB/, 'the file is not a SQLite database', `name another path in ${setting}`),
  fixFirst(/CORRUPT/, 'the file is damaged', 'restore it from a backup, or move it away and sync again'),
  tryAgain(/BUSY|LOCKED/, 'another process has locked it', 'wait until that process is done, and try again'),
  tryAgain(/FULL|ENOSPC|EDQUOT/, 'the disk is full', 'free space on the disk, and try again'),
  tryAgain(/IOERR|EIO/, 'the disk is full or faulty', 'free space on the disk, or check it, and try again'),
  tryAgain(
    /NOMEM|EMFILE|ENFILE/,
    'this process is out of memory, or has too many files open',
    'raise its limits (`ulimit -n`, the memory of the container), and try again',
  ),
  fixFirst(/TOOBIG/, 'a row is larger than SQLite can hold (1 GB)', 'please report this'),
]

/** Errors of the disk, the file or another process, as opposed to errors of a statement. */
export const sqliteExternalErrors =
  /^no such table|^SQLITE_(FULL|IOERR|CORRUPT|READONLY|BUSY|LOCKED|NOTADB|CANTOPEN|PERM|AUTH|NOMEM|TOOBIG)|^FILE_/

/** Errors that pass by waiting. */
export const sqliteTransientErrors = /^SQLITE_(BUSY|LOCKED)/
