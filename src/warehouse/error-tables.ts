/** What each error of a database means for people, by its code. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import {
  type Explanation,
  type ExplanationTable,
  fixFirst,
  lookUpExplanation,
  tryAgain,
} from '../values/user-error.ts'
import type { DatabaseLocation } from './location.ts'

export function findExplanation(location: DatabaseLocation, code: string): Explanation | undefined {
  const { setting } = location
  if (location.kind === 'postgres')
    return lookUpExplanation(postgresExplanations(setting, sourcesOf(location)), code)
  return (
    explainSqlitePath(location.path, code, setting) ??
    lookUpExplanation(sqliteExplanations(setting), code)
  )
}

/** The path itself, which says more than SQLite's code. `setting`: where it is from. */
function explainSqlitePath(path: string, code: string, setting: string): Explanation | undefined {
  const folder = dirname(resolve(path))
  const explain = (why: string, next: string): Explanation => ({ why, next, exitCode: 2 })
  if (!existsSync(folder))
    return explain(
      `the folder ${folder} does not exist`,
      `create the folder, or name another path in ${setting}`,
    )
  const exists = existsSync(path)
  if (exists && statSync(path).isDirectory())
    return explain('it is a folder', `name a file in it: sqlite:${path}/deskmirror.db`)
  const isRefused = /CANTOPEN|READONLY|PERM|^E/.test(code)
  if (isRefused && exists && !isAllowed(path, constants.R_OK))
    return explain(
      'this user has no permission to read it',
      `run as the user that owns the file, or name another path in ${setting}`,
    )
  if (code === 'SQLITE_CANTOPEN' && !exists && isAllowed(folder, constants.W_OK))
    return explain(
      'the file does not exist, or cannot be created',
      'run `deskmirror sync`, or make the folder writable',
    )
  return undefined
}

export function isAllowed(path: string, mode: number): boolean {
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
    'the file was moved, removed or replaced while it was in use; what ' +
      'was written since then is not in it',
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
  fixFirst(
    /CORRUPT/,
    'the file is damaged',
    'restore it from a backup, or move it away and sync again',
  ),
  tryAgain(
    /BUSY|LOCKED/,
    'another process has locked it',
    'wait until that process is done, and try again',
  ),
  tryAgain(/FULL|ENOSPC|EDQUOT/, 'the disk is full', 'free space on the disk, and try again'),
  tryAgain(
    /IOERR|EIO/,
    'the disk is full or faulty',
    'free space on the disk, or check it, and try again',
  ),
  tryAgain(
    /NOMEM|EMFILE|ENFILE/,
    'this process is out of memory, or has too many files open',
    'raise its limits (`ulimit -n`, the memory of the container), and try again',
  ),
  fixFirst(/TOOBIG/, 'a row is larger than SQLite can hold (1 GB)', 'please report this'),
]

/** What the address leaves out, the driver takes from variables of Postgres. */
function sourcesOf({ setting, url }: Extract<DatabaseLocation, { kind: 'postgres' }>) {
  const { searchParams, password } = new URL(url)
  const hasTls = ['sslmode', 'ssl', 'sslrootcert', 'sslcert'].some((name) => searchParams.has(name))
  return {
    withoutTls: hasTls ? `remove sslmode in ${setting}` : 'unset PGSSLMODE',
    rightPassword:
      password === ''
        ? `correct PGPASSWORD, or ~/.pgpass, or write the password in ${setting}`
        : null,
  }
}

/** Codes of Node (E…), of TLS and of Postgres (five characters), or else the driver's message. */
const postgresExplanations = (
  setting: string,
  sources: ReturnType<typeof sourcesOf>,
): ExplanationTable => [
  fixFirst(
    /^FILE_/,
    'a file that the address names (sslrootcert, sslcert, sslkey) cannot be read',
    `correct its path in ${setting}, or its permissions`,
  ),
  tryAgain(
    /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|EADDRNOTAVAIL|ENOENT|EACCES)/,
    'the server does not answer',
    `start the server, or correct host and port in ${setting}`,
  ),
  fixFirst(
    /^(ENOTFOUND|EAI_)/,
    'the host name cannot be resolved',
    `correct the host in ${setting}`,
  ),
  tryAgain(
    /^(EMFILE|ENFILE|ENOBUFS)/,
    'this process has too many files open',
    'raise its limit (`ulimit -n`), and try again',
  ),
  fixFirst(
    /SELF_SIGNED|UNABLE_TO|CERT_|ALTNAME/,
    "the server's certificate is not trusted, has expired, or is for another host",
    'name the authority that signed it with ?sslrootcert=PATH in ' +
      `${setting}, or renew the certificate`,
  ),
  fixFirst(
    /does not support SSL|^ERR_SSL|^EPROTO/,
    'the server does not support TLS',
    `${sources.withoutTls}, or enable TLS on the server`,
  ),
  fixFirst(
    /^28000/,
    'the server does not know this user, or does not accept the user ' +
      'this way from here (pg_hba.conf)',
    `correct the user in ${setting}, use TLS with ?sslmode=require, or ` +
      "change the server's settings",
  ),
  fixFirst(
    /^28/,
    'the server refuses this user or this password',
    sources.rightPassword ?? `correct user and password in ${setting}`,
  ),
  fixFirst(
    /SASL|password/i,
    'the server requires a password',
    `write it in ${setting}: postgres://user:password@host/database`,
  ),
  fixFirst(/^3D000/, 'the server has no database of that name', 'create it: createdb NAME'),
  fixFirst(/^3F000/, 'the database has no schema of that name', 'create it: create schema NAME'),
  fixFirst(
    /^42501/,
    'the user lacks a permission',
    'make the user the owner of the schema, or run: grant usage, create on schema public ' +
      'to USER; and grant rights on the existing tables',
  ),
  fixFirst(
    /^42P01/,
    'one of its tables is missing (42P01)',
    'restore the warehouse from a backup, or sync again into an empty schema',
  ),
  fixFirst(
    /^25006/,
    'the database is read-only: the server is a standby, or writing is ' +
      'disabled for this user or database',
    `name the primary server in ${setting}, or set default_transaction_read_only to off`,
  ),
  fixFirst(
    /^(22P05|22021)/,
    'the encoding of the database cannot hold all characters',
    'create one that can: createdb --encoding=UTF8 --template=template0 NAME',
  ),
  tryAgain(
    /^57014/,
    'the server cancelled a statement: it took longer than statement_timeout, or an ' +
      'administrator stopped it',
    "try again; if it happens again: alter role USER set statement_timeout = '10min'",
  ),
  tryAgain(
    /^25P0[34]/,
    'the server ended a transaction that took longer than it allows ' +
      '(idle_in_transaction_session_timeout)',
    'try again; if it happens again, raise that setting for this user',
  ),
  tryAgain(
    /^53300/,
    'the server has no connections left',
    'try again when others have disconnected, or raise max_connections there',
  ),
  tryAgain(/^53100/, "the server's disk is full", 'free space on it, and try again'),
  tryAgain(
    /^(57P03|53)/,
    'the server is starting or stopping, or has no resources left',
    'try again in a while',
  ),
  fixFirst(
    /^(58|XX|F0)/,
    'the server reports a fault of its storage',
    'look at its disk, which may be full, and at its log',
  ),
  tryAgain(
    /^08P01/,
    'the server, or a connection pooler (PgBouncer) in front of it, rejects the connection',
    `connect to Postgres directly in ${setting}, or look at the pooler's log`,
  ),
  tryAgain(
    /^(57P|08)|^Connection |not queryable/,
    'the connection was lost',
    "try again; if it happens each time, look at the server's log",
  ),
  tryAgain(/^55P03|^40/, 'another process holds a lock that is needed', 'try again'),
]

/**
 * `external`: errors of the disk, the server, the connection or its permissions, as opposed to
 * errors of a statement. `transient`: those that pass by waiting, as a restart does.
 */
export const runtimeErrors = {
  sqlite: {
    external:
      /^no such table|^SQLITE_(FULL|IOERR|CORRUPT|READONLY|BUSY|LOCKED|NOTADB|CANTOPEN|PERM|AUTH|NOMEM|TOOBIG)|^FILE_/,
    transient: /^SQLITE_(BUSY|LOCKED)/,
  },
  postgres: {
    external:
      /^(57|08|53|58|XX|F0|28|3D000|3F000|42501|42P01|25006|25P0[34]|22P05|22021|55P03|40)|^E[A-Z_]{3,}$|^Connection |not queryable|SELF_SIGNED|UNABLE_TO|CERT_|SASL/,
    transient:
      /^(57P0|08|53300|25P0[34]|55P03|40)|^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_|ENOENT|EADDRNOTAVAIL)|^Connection |not queryable/,
  },
}
