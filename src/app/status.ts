/** Runs `status` and `migrate`, which need only the warehouse. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { GrantReport, StatusReport } from '../core/command-reports.ts'
import type { RewriteReport } from '../core/rewrite-report.ts'
import type { MigrationSummary } from '../warehouse/database/migrate.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { ownDatabase } from '../warehouse/shards.ts'
import { withWarehouse } from './with-resources.ts'

export type MigrationReport = MigrationSummary & { readonly rewritten: RewriteReport }

/** Throws UserError if nothing was ever mirrored. */
export function readStatus(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const { name, projectId, streams } = project
  const read = async (warehouse: Warehouse) => ({
    ...(await warehouse.status(projectId, Date.now(), project, streams)),
    project: name,
  })
  return withWarehouse(ownDatabase(config, project), read, { access: 'read' })
}

type MigrationOptions = {
  readonly signal: AbortSignal
  /** How many rows of an older version have been rewritten, and how many are left. */
  readonly onProgress: (rows: number, left: number) => void
}

/** Brings the warehouse to this version's schema, and its rows to this version's form. */
export function migrateWarehouse(config: Config, { signal, onProgress }: MigrationOptions): Promise<MigrationReport> {
  return withWarehouse(config, async ({ migration, rewriteRaw, kind }) => {
    const rewritten = await rewriteRaw({ isOver: () => signal.aborted, onProgress })
    return { ...(migration ?? { from: null, to: '', applied: [] }), rewritten: { ...rewritten, kind } }
  })
}

/** Brings the warehouse to this version's schema, and lets a role of Postgres read the objects for analysts. */
export function grantToAnalyst(config: Config, role: string): Promise<MigrationSummary & GrantReport> {
  return withWarehouse(config, async ({ migration, grantToAnalyst: grant }) => {
    const granted = await grant(role)
    return { ...(migration ?? { from: null, to: '', applied: [] }), ...granted }
  })
}
