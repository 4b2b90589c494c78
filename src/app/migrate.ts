/** Runs `migrate`, which needs only the warehouse. */
import { grantToAnalyst as grantRole } from '../analytics/sql/grant.ts'
import type { Config } from '../config/config.ts'
import type { MigrationSummary } from '../warehouse/migrate.ts'
import { withWarehouse } from './open.ts'

export function migrateWarehouse(config: Config): Promise<MigrationSummary> {
  return withWarehouse(config, async ({ migration }) => migration)
}

/** Also lets a role of Postgres read the objects for analysts. */
export function grantToAnalyst(config: Config, role: string) {
  return withWarehouse(config, async ({ migration, db, kind }) => {
    return { ...migration, ...(await grantRole(db, kind, role)) }
  })
}
