/** Runs `status` and `migrate`, which need only the warehouse. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { GrantReport, StatusReport } from '../core/command-reports.ts'
import type { MigrationSummary } from '../warehouse/database/migrate.ts'
import { withReadOnlyWarehouse, withWarehouse } from './with-resources.ts'

export function readStatus(config: Config, project: ProjectConfig): Promise<StatusReport> {
  return withReadOnlyWarehouse(config, async (warehouse) => {
    const report = await warehouse.status(project.projectId, Date.now(), project.rate, project.streams)
    return { ...report, project: project.name }
  })
}

/** Brings the warehouse to this version's schema. */
export function migrateWarehouse(config: Config): Promise<MigrationSummary> {
  return withWarehouse(config, async ({ migration }) => migration ?? { from: null, to: '', applied: [] })
}

/** Brings the warehouse to this version's schema, and lets a role of Postgres read the objects for analysts. */
export function grantToAnalyst(config: Config, role: string): Promise<MigrationSummary & GrantReport> {
  return withWarehouse(config, async ({ migration, grantToAnalyst: grant }) => {
    const granted = await grant(role)
    return { ...(migration ?? { from: null, to: '', applied: [] }), ...granted }
  })
}
