/** Opens the database that a URL names. Errors say what a person can do about them. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ProjectId } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import { type ConnectionPool, withExplainedErrors } from './connection-pool.ts'
import { explainOpenError, WarehouseError } from './explain-error.ts'
import { type DatabaseLocation, parseDatabaseUrl } from './location.ts'
import { EmptyWarehouseError } from './migrate.ts'
import { pathToRead } from './read-only-folder.ts'
import { openSqlitePool } from './sqlite.ts'
import { openSqliteThread } from './sqlite-thread.ts'

export type WarehouseOptions = {
  /** `read`: changes nothing, and rejects a database that nothing has been mirrored into. */
  readonly access?: 'write' | 'read'
  /** Not even a request budget is written. Needs `access: 'read'`. */
  readonly readOnly?: boolean
  /**
   * Reads by a thread (SQLite) or few connections (Postgres), to disturb no other work. `brief`:
   * what takes long is given up, in Postgres. Needs `access: 'read'`.
   */
  readonly apart?: 'brief' | 'long'
  /** SQLite is read by a thread, which is not waited for from then on. Needs `access: 'read'`. */
  readonly signal?: AbortSignal
  /** SQLite only. */
  readonly synchronous?: 'normal' | 'full'
  /** The setting that the URL is from, for errors. */
  readonly setting?: string | undefined
  /** Their rows must not be in another schema of the database. */
  readonly projects?: readonly ProjectId[] | undefined
}

/** `sqlite:PATH` or `postgres://…`. `use` closes the connections if it fails. Throws UserError. */
export async function openDatabase<T>(
  url: string,
  options: WarehouseOptions,
  use: (pool: ConnectionPool) => Promise<T>,
): Promise<T> {
  const location = parseDatabaseUrl(url, options.setting)
  const path = location.kind === 'sqlite' ? location.path : null
  // A missing folder is a mistake; a missing file only means that there was no sync yet.
  if (
    options.access === 'read' &&
    path !== null &&
    !existsSync(path) &&
    existsSync(dirname(resolve(path)))
  )
    throw new EmptyWarehouseError()
  try {
    return await use(withExplainedErrors(await openPool(location, options), location))
  } catch (error) {
    throw error instanceof UserError && !(error instanceof WarehouseError)
      ? error
      : explainOpenError(location, error)
  }
}

async function openPool(
  location: DatabaseLocation,
  { access, apart, signal, readOnly = false, synchronous = 'normal', projects }: WarehouseOptions,
): Promise<ConnectionPool> {
  const isWriter = access !== 'read'
  if (location.kind === 'postgres') {
    // Only then: its client takes a while to load.
    const { openPostgresPool } = await import('./postgres.ts')
    return openPostgresPool(location.url, isWriter, apart, projects)
  }
  // Another one may write a request budget.
  const path =
    readOnly || apart !== undefined || signal !== undefined ? pathToRead(location) : location.path
  return apart !== undefined || signal !== undefined
    ? openSqliteThread(path, signal)
    : openSqlitePool(path, { mustExist: !isWriter, readOnly, synchronous })
}
