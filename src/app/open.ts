/** Opens the warehouse of a URL, migrates its schema, and closes it when the work has ended. */
import type { DatabaseKind } from '../../schema/column-types.ts'
import { type Run, runOn } from '../../schema/create-missing.ts'
import type { Config } from '../config/config.ts'
import type { ProjectId } from '../values/project.ts'
import { withOpened } from '../values/with-opened.ts'
import { type ConnectionPool, type Db, openKysely } from '../warehouse/connection-pool.ts'
import { type MigrationSummary, migrate, requireCurrentSchema } from '../warehouse/migrate.ts'
import {
  describeMove,
  findMove,
  movedError,
  readMoves,
  wholeWarehouse,
} from '../warehouse/moves.ts'
import { openDatabase, type WarehouseOptions } from '../warehouse/open-database.ts'
import { createProjectDb, type ProjectDb } from '../warehouse/project-db.ts'
import { noRetry, type WarehouseRetry } from '../warehouse/retry.ts'

/** What all SQL of an open warehouse shares. Each module has functions that take it. */
export type Warehouse = {
  readonly kind: DatabaseKind
  readonly db: Db
  /** For connections of one's own. */
  readonly pool: ConnectionPool
  readonly projectDb: (project: ProjectId) => ProjectDb
  /** Runs one SQL statement; rows as the database returns them. */
  readonly query: Run
  /** For work that may be repeated while the warehouse is away. */
  readonly retry: WarehouseRetry
  /** What opening did to the schema; a reader does nothing. */
  readonly migration: MigrationSummary
  /** What had moved, or was arriving, when it was opened: nothing of that is changed. */
  readonly moves: Awaited<ReturnType<typeof readMoves>>
  readonly close: () => Promise<void>
}

type OpenOptions = WarehouseOptions & {
  readonly retry?: WarehouseRetry
  readonly notifyMoved?: (line: string) => void
  /** Without a word about what has moved away, or is arriving. */
  readonly evenIfMoved?: boolean
}

/** `sqlite:PATH` or `postgres://…`. Throws UserError. */
export function openWarehouse(url: string, options: OpenOptions = {}): Promise<Warehouse> {
  return openDatabase(url, options, (pool) => createWarehouse(pool, options))
}

/** For connections that are already open; closes them if this fails. */
export async function createWarehouse(
  pool: ConnectionPool,
  { retry = noRetry, evenIfMoved = false, ...options }: OpenOptions = {},
): Promise<Warehouse> {
  const { kind, close } = pool
  const db = openKysely(pool)
  try {
    const { migration, isFenced } = await prepareSchema(db, kind, options)
    const moves = isFenced ? await readMoves(db) : []
    const isReader = options.access === 'read'
    const requireHere = (project: ProjectId) => {
      const move = findMove(moves, project)
      if (move === undefined || evenIfMoved) return
      if (!isReader) throw movedError(move, options.setting)
      options.notifyMoved?.(`${describeMove(move)}; this is what was here then`)
    }
    requireHere(wholeWarehouse)
    const projectDb = (project: ProjectId) => {
      requireHere(project)
      return createProjectDb(db, kind, project, retry)
    }
    return { kind, db, pool, projectDb, query: runOn(db), retry, migration, moves, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A reader changes nothing, and throws UserError if the schema is an earlier one. */
async function prepareSchema(db: Db, kind: DatabaseKind, { access }: WarehouseOptions) {
  if (access === 'read') {
    const migration: MigrationSummary = { from: null, to: '', applied: [] }
    return { migration, ...(await requireCurrentSchema(db, kind)) }
  }
  // Only then: a reader needs none of them.
  const { explainDependentView, updateAnalyticsViews } = await import('../analytics/sql/views.ts')
  const migrated = migrate(db, kind, (trx) => updateAnalyticsViews(trx, kind))
  const { summary, isFenced } = await migrated.catch((error: unknown) => {
    throw explainDependentView(error)
  })
  return { migration: summary, isFenced }
}

/**
 * Where the warehouse is, which setting says so, and the projects to be in it, else those that it
 * has.
 */
export type DatabaseAddress = Pick<Config, 'databaseUrl' | 'databaseSetting'> & {
  readonly projects?: readonly { readonly projectId: ProjectId }[]
  /** Tells a person who reads what has moved away. */
  readonly notifyMoved?: (line: string) => void
}

/** The options of `openWarehouse` that an address tells. */
export function addressOptions({ databaseSetting, projects, notifyMoved }: DatabaseAddress) {
  return {
    setting: databaseSetting,
    projects: projects?.map(({ projectId }) => projectId),
    ...(notifyMoved && { notifyMoved }),
  }
}

export function withWarehouse<T>(
  address: DatabaseAddress,
  work: (warehouse: Warehouse) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const settings = { ...options, ...addressOptions(address) }
  return withOpened(async (use) => work(use(await openWarehouse(address.databaseUrl, settings))))
}
