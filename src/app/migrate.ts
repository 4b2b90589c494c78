/** Runs `migrate`, which needs only the warehouse. */
import { grantToAnalyst as grantRole } from '../analytics/sql/grant.ts'
import type { Config } from '../config/config.ts'
import type { MigrationSummary } from '../warehouse/migrate.ts'
import { withWarehouse } from './open.ts'

/** Only a warehouse that was opened for reading has no migration: never that of these commands. */
const noMigration: MigrationSummary = { from: null, to: '', applied: [] }

export function migrateWarehouse(config: Config): Promise<MigrationSummary> {
  return withWarehouse(config, async ({ migration }) => migration ?? noMigration)
}

/** Also lets a role of Postgres read the objects for analysts. */
export function grantToAnalyst(config: Config, role: string) {
  return withWarehouse(config, async ({ migration, db, kind }) => {
    const granted = await grantRole(db, kind, role)
    return { ...(migration ?? noMigration), ...granted }
  })
}
