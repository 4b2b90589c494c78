/** What to tell a person when the database cannot be opened, or fails later on. The driver's own words are not shown. */
import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { UserError } from '../../core/user-error.ts'
import { nameOfPlace, type Place } from './place.ts'

type Advice = { readonly why: string; readonly next: string; readonly exitCode: 1 | 2 }

/** The error that a person sees for what a driver threw on opening. */
export function openTrouble(place: Place, error: unknown): UserError {
  const code = codeOf(error)
  const advice = place.kind === 'sqlite' ? sqliteAdvice(place.path, code) : postgresAdvice(code)
  const what = `cannot open the warehouse ${nameOfPlace(place)}`
  // The driver's own words may quote the URL, and so the password: only its code is shown.
  return new UserError({ what, ...(advice ?? { ...unexpected, why: `${unexpected.why} (${code})` }) })
}

/**
 * The warehouse cannot be used just now. `away`: it does not answer, and whatever it answers next shows that it is back.
 * `unusable`: it answers, but does not do what was asked (a full disk, a table that is gone): only the same thing done
 * shows that it can be used again.
 */
export class WarehouseError extends UserError {
  readonly kind: 'away' | 'unusable'
  constructor(texts: ConstructorParameters<typeof UserError>[0], kind: WarehouseError['kind']) {
    super(texts)
    this.name = 'WarehouseError'
    this.kind = kind
  }
}

/** Likewise for what goes wrong later on, through no fault of ours; undefined for anything else. */
export function laterTrouble(place: Place, error: unknown): WarehouseError | undefined {
  const code = laterCodeOf(error)
  if (!lost.test(code) && !unusable.test(code)) return undefined
  const advice = missing.test(code)
    ? { ...tableMissing, why: `${tableMissing.why} (${code})` }
    : place.kind === 'sqlite'
      ? sqliteAdvice(place.path, code)
      : (laterPostgres.find(([pattern]) => pattern.test(code))?.[1] ?? postgresAdvice(code))
  const what = `cannot use the warehouse ${nameOfPlace(place)}`
  return advice && new WarehouseError({ what, ...advice }, unusable.test(code) ? 'unusable' : 'away')
}

/** SQLite has no code of its own for a table that is not there. */
function laterCodeOf(error: unknown): string {
  const code = codeOf(error)
  const isMissing = code === 'SQLITE_ERROR' && error instanceof Error && /^no such table/.test(error.message)
  return isMissing ? 'no such table' : code
}

const missing = /^(42P01|no such table)/

/** It answers, and refuses. 42501: a right that was taken away; 25006: read-only; 53100: the disk is full. */
const unusable = /^(42P01|no such table|42501|25006|53100|SQLITE_(FULL|IOERR|CORRUPT|READONLY|NOTADB))/

const tableMissing: Advice = {
  why: 'one of its tables is not there any more',
  next: 'restore the warehouse from a backup, or move it away and sync anew',
  exitCode: 2,
}

const laterPostgres: readonly (readonly [RegExp, Advice])[] = [
  [
    /^42501/,
    {
      why: 'the user may not read or write one of its tables',
      next: 'grant it, or let the user own the tables: alter table NAME owner to USER',
      exitCode: 2,
    },
  ],
  [
    /^25006/,
    {
      why: 'the server is read-only: a standby, or one that ran out of room',
      next: 'name the primary server in DESKMIRROR_DATABASE_URL, or let the server write again',
      exitCode: 1,
    },
  ],
  [/^53100/, { why: 'its disk is full', next: 'make room on the disk of the server', exitCode: 1 }],
]

/** The disk, the connection, the server: not a statement. */
const lost = /^SQLITE_(FULL|IOERR|CORRUPT|READONLY|BUSY|NOTADB)|^(57P|08|53)|^E[A-Z]{4,}$|Connection terminated/

const unexpected: Advice = {
  why: 'the database answered with an error',
  next: 'look the code up in the documentation of the database',
  exitCode: 1,
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error ? (/timeout/i.test(error.message) ? 'ETIMEDOUT' : error.message) : String(error)
}

function sqliteAdvice(path: string, code: string): Advice | undefined {
  const folder = dirname(resolve(path))
  const elsewhere = 'or set DESKMIRROR_DATABASE_URL to another path'
  if (!existsSync(folder)) {
    return { why: `the folder ${folder} does not exist`, next: `create the folder, ${elsewhere}`, exitCode: 2 }
  }
  if (existsSync(path) && statSync(path).isDirectory()) {
    return { why: 'it is a folder', next: `name a file in it: sqlite:${path}/deskmirror.db`, exitCode: 2 }
  }
  if (code === 'SQLITE_CANTOPEN' && !existsSync(path)) {
    return {
      why: 'the file is not there, or cannot be made',
      next: 'run `deskmirror sync`, or make the folder writable',
      exitCode: 2,
    }
  }
  return sqliteCodes.find(([pattern]) => pattern.test(code))?.[1]
}

const sqliteCodes: readonly (readonly [RegExp, Advice])[] = [
  [
    /READONLY|CANTOPEN|PERM|AUTH/,
    {
      why: 'it cannot be written to',
      next: 'make the file and its folder writable for this user, or set DESKMIRROR_DATABASE_URL to another path',
      exitCode: 2,
    },
  ],
  [
    /NOTADB/,
    { why: 'the file is not a SQLite database', next: 'set DESKMIRROR_DATABASE_URL to another path', exitCode: 2 },
  ],
  [
    /CORRUPT/,
    { why: 'the file is damaged', next: 'restore it from a backup, or move it away and sync anew', exitCode: 2 },
  ],
  [/BUSY|LOCKED/, { why: 'another process holds it', next: 'wait until that one is done, and try again', exitCode: 1 }],
  [/FULL|IOERR/, { why: 'the disk is full or fails', next: 'make room on the disk, and try again', exitCode: 1 }],
]

/** Codes of Node (E…) and of Postgres. Source: its documentation, appendix "Error Codes". */
const postgresCodes: readonly (readonly [RegExp, Advice])[] = [
  [
    /ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE/,
    {
      why: 'nothing answers there',
      next: 'start the server, or correct host and port in DESKMIRROR_DATABASE_URL',
      exitCode: 1,
    },
  ],
  [
    /ENOTFOUND|EAI_AGAIN/,
    { why: 'the host is not known', next: 'correct the host in DESKMIRROR_DATABASE_URL', exitCode: 2 },
  ],
  [
    /^28/,
    {
      why: 'the server refuses this user or this password',
      next: 'correct user and password in DESKMIRROR_DATABASE_URL',
      exitCode: 2,
    },
  ],
  [
    /SASL|password/i,
    {
      why: 'the server asks for a password',
      next: 'write it into DESKMIRROR_DATABASE_URL: postgres://user:password@host/database',
      exitCode: 2,
    },
  ],
  [/^3D000/, { why: 'the server has no database of that name', next: 'create it: createdb NAME', exitCode: 2 }],
  [/^3F000/, { why: 'the database has no schema of that name', next: 'create it: create schema NAME', exitCode: 2 }],
  [
    /^42501/,
    {
      why: 'the user may not create tables there',
      next: 'grant it: grant create on schema public to USER',
      exitCode: 2,
    },
  ],
  [
    /^(57P03|53)/,
    { why: 'the server is starting, or has no connection or no room left', next: 'try again in a while', exitCode: 1 },
  ],
  [/^(57P|08)|Connection terminated/, { why: 'the connection was lost', next: 'try again', exitCode: 1 }],
  [/^55P03|^40/, { why: 'another process holds what is needed', next: 'try again', exitCode: 1 }],
]

function postgresAdvice(code: string): Advice | undefined {
  return postgresCodes.find(([pattern]) => pattern.test(code))?.[1]
}
