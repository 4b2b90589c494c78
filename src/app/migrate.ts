/** Runs `migrate`, which needs only the warehouse. */
import { grantToAnalyst as grantRole } from '../analytics/sql/grant.ts'
import type { Config } from '../config/config.ts'
import type { RewriteReport } from '../mirror/mirror.ts'
import { rewriteRows } from '../mirror/sql/rewrite-rows.ts'
import type { MigrationSummary } from '../warehouse/migrate.ts'
import { type Warehouse, withWarehouse } from './open.ts'

export type MigrationReport = MigrationSummary & { readonly rewritten: RewriteReport }

/** Only a warehouse that was opened for reading has no migration: never that of these commands. */
const noMigration: MigrationSummary = { from: null, to: '', applied: [] }

type MigrationOptions = {
  readonly signal: AbortSignal
  /** How many rows of an older version have been rewritten, and how many are left. */
  readonly onProgress: (rows: number, left: number) => void
}

/** Brings the warehouse to this version's schema, and its rows to this version's form. */
export function migrateWarehouse(config: Config, { signal, onProgress }: MigrationOptions): Promise<MigrationReport> {
  const rewrite = async ({ migration, db, kind }: Warehouse) => {
    const rewritten = await rewriteRows(db, kind, { isOver: () => signal.aborted, onProgress })
    return { ...(migration ?? noMigration), rewritten: { ...rewritten, kind } }
  }
  return withWarehouse(config, rewrite, { keys: 'later' })
}

/** Brings the warehouse to this version's schema, and lets a role of Postgres read the objects for analysts. */
export function grantToAnalyst(config: Config, role: string) {
  return withWarehouse(config, async ({ migration, db, kind }) => {
    const granted = await grantRole(db, kind, role)
    return { ...(migration ?? noMigration), ...granted }
  })
}
