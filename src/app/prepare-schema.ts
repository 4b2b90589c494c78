/** Brings a database that is being opened to this version: its schema, and the rows that only this version can read. */
import type { DatabaseKind } from '../../schema/column-types.ts'
import { explainDependentView, updateAnalyticsViews } from '../analytics/sql/views.ts'
import { requireActivityKeys, rewriteActivityKeys } from '../mirror/sql/rewrite-activity-keys.ts'
import type { RewriteOptions } from '../mirror/sql/rewrite-in-batches.ts'
import { rewriteRaw } from '../mirror/sql/rewrite-raw.ts'
import { type ConnectionPool, type Db, openKysely } from '../warehouse/connection-pool.ts'
import { type MigrationSummary, migrate, requireCurrentSchema } from '../warehouse/migrate.ts'
import type { WarehouseOptions } from '../warehouse/open-database.ts'

/**
 * A reader changes nothing, and throws UserError if the database is of an older version. Closes the connections if it
 * fails.
 */
export async function prepareSchema(
  pool: ConnectionPool,
  options: Pick<WarehouseOptions, 'access' | 'keys'>,
): Promise<MigrationSummary | null> {
  const db = openKysely(pool)
  try {
    return await (options.access === 'read'
      ? requireReadable(db, pool.kind)
      : prepareForWriting(db, pool.kind, options))
  } catch (error) {
    await pool.close()
    throw error
  }
}

async function prepareForWriting(db: Db, kind: DatabaseKind, { keys }: WarehouseOptions): Promise<MigrationSummary> {
  const migration = await migrate(db, kind, (trx) => updateAnalyticsViews(trx, kind)).catch((error: unknown) => {
    throw explainDependentView(error)
  })
  if (keys !== 'later') await rewriteActivityKeys(db, kind)
  return migration
}

async function requireReadable(db: Db, kind: DatabaseKind): Promise<null> {
  await requireCurrentSchema(db, kind)
  await requireActivityKeys(db)
  return null
}

/** Rewrites the rows that migrations have left to be rewritten. */
export async function rewriteRows(db: Db, kind: DatabaseKind, options: RewriteOptions) {
  const keys = await rewriteActivityKeys(db, kind, options)
  if (!keys.isComplete) return keys
  const onProgress = (rows: number, left: number) => options.onProgress?.(keys.rows + rows, left)
  const { rows, isComplete } = await rewriteRaw(db, kind, { ...options, onProgress })
  return { rows: keys.rows + rows, isComplete }
}
