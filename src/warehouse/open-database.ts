/** Opens the database that a URL names. Errors say what a person can do about them. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { UserError } from '../core/user-error.ts'
import type { ConnectionPool, LocalReads } from './database/connection-pool.ts'
import { type DeferredPool, deferPool } from './database/deferred-pool.ts'
import {
  explainOpenError,
  explainRuntimeError,
  isWarehouseUnavailable,
  WarehouseError,
} from './database/explain-error.ts'
import { type DatabaseLocation, parseDatabaseUrl } from './database/location.ts'
import { EmptyWarehouseError } from './database/schema-version.ts'
import { openSqlitePool } from './database/sqlite.ts'
import { openSqliteThread } from './database/sqlite-thread.ts'

export type WarehouseOptions = {
  /** `read`: changes nothing, and rejects a database that nothing has been mirrored into. */
  readonly access?: 'write' | 'read'
  /** Not even a request budget is written. Needs `access: 'read'`. */
  readonly readOnly?: boolean
  /**
   * Reads by a thread (SQLite) or by few connections (Postgres) that disturb no other work. `brief`: what takes long is
   * given up, in Postgres. Needs `access: 'read'`.
   */
  readonly apart?: 'brief' | 'long'
  /** SQLite only. */
  readonly synchronous?: 'normal' | 'full'
  /** `later`: keys of an older version are left to `rewriteRows`, before which nothing else may write. */
  readonly keys?: 'now' | 'later'
  /** A database that does not answer now is opened when it is used; until it answers, each use fails as in an outage. */
  readonly mayBeAway?: boolean
  /** The setting that the URL is from, for errors. */
  readonly setting?: string | undefined
}

/** For connections that have been opened; closes them if it fails. */
type Use<T> = (pool: ConnectionPool) => Promise<T>

/** `sqlite:PATH` or `postgres://…`. `whenAway`: instead of an error if the database does not answer. Throws UserError. */
export async function openDatabase<T>(
  url: string,
  options: WarehouseOptions,
  use: Use<T>,
  whenAway?: () => T,
): Promise<T> {
  const location = parseDatabaseUrl(url, options.setting)
  const path = location.kind === 'sqlite' ? location.path : null
  // A missing folder is a mistake; a missing file only means that there was no sync yet.
  if (options.access === 'read' && path !== null && !existsSync(path) && existsSync(dirname(resolve(path)))) {
    throw new EmptyWarehouseError()
  }
  try {
    return await use(await openPool(location, options))
  } catch (error) {
    const isAway = explainRuntimeError(location, error)?.kind === 'unavailable'
    if (isAway && whenAway !== undefined) return whenAway()
    throw error instanceof UserError && !(error instanceof WarehouseError) ? error : explainOpenError(location, error)
  }
}

/** Connections to a database that does not answer yet. `prepare` runs before the first of them is used. */
export function deferDatabase(url: string, options: WarehouseOptions, prepare: Use<unknown>): DeferredPool {
  const location = parseDatabaseUrl(url, options.setting)
  const open = async () => {
    const pool = await openPool(location, options)
    await prepare(pool)
    return pool
  }
  const deferred = deferPool(location.kind, () =>
    open().catch((error: unknown) => {
      throw toOutage(location, error)
    }),
  )
  return { ...withExplainedErrors(deferred, location), isOpen: deferred.isOpen }
}

/** A database that answers and cannot be used (a later version's schema, another password) must not stop the others. */
function toOutage(location: DatabaseLocation, error: unknown): unknown {
  const explained = explainRuntimeError(location, error) ?? error
  if (!(explained instanceof UserError) || isWarehouseUnavailable(explained)) return explained
  const { what, why, next, exitCode } = explained
  return new WarehouseError(what, { why, next, exitCode }, 'unavailable', '')
}

async function openPool(location: DatabaseLocation, options: WarehouseOptions): Promise<ConnectionPool> {
  return withExplainedErrors(await openDriverPool(location, options), location)
}

async function openDriverPool(
  location: DatabaseLocation,
  { access, apart, readOnly = false, synchronous = 'normal', mayBeAway = false }: WarehouseOptions,
): Promise<ConnectionPool> {
  const isWriter = access !== 'read'
  if (location.kind === 'postgres') {
    // Only then: its client takes a while to load.
    const { openPostgresPool, pageLimits } = await import('./database/postgres.ts')
    return openPostgresPool(location.url, isWriter, apart && pageLimits[apart])
  }
  return apart !== undefined
    ? openSqliteThread(location.path)
    : openSqlitePool(location.path, { mustExist: !isWriter, readOnly, synchronous, waitsForLock: !mayBeAway })
}

/** Failures of the database itself become errors for people. Anything else is a bug and is thrown as it is. */
export function withExplainedErrors(pool: ConnectionPool, location: DatabaseLocation): ConnectionPool {
  const explain = (error: unknown): never => {
    throw explainRuntimeError(location, error) ?? error
  }
  return {
    ...pool,
    openSeparate: () => withExplainedErrors(pool.openSeparate(), location),
    acquire: async () => {
      const connection = await pool.acquire().catch(explain)
      const local = connection.local && withExplainedReads(connection.local, explain)
      return { ...connection, ...(local && { local }), run: (...args) => connection.run(...args).catch(explain) }
    },
  }
}

function withExplainedReads(local: LocalReads, explain: (error: unknown) => never): LocalReads {
  return {
    ...local,
    *iterate(text, parameters) {
      try {
        yield* local.iterate(text, parameters)
      } catch (error) {
        explain(error)
      }
    },
  }
}
