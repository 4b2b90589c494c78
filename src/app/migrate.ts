/** Runs `migrate`, which needs only the warehouse. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { GrantReport } from '../core/command-reports.ts'
import type { RewriteReport } from '../core/rewrite-report.ts'
import type { MigrationSummary } from '../warehouse/database/migrate.ts'
import { type Databases, ownDatabase } from '../warehouse/databases.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { withWarehouse } from './with-resources.ts'

export type MigrationReport = MigrationSummary & { readonly rewritten: RewriteReport }

/** Only a warehouse that was opened for reading has no migration: never that of these commands. */
const noMigration: MigrationSummary = { from: null, to: '', applied: [] }

type MigrationOptions = {
  /** Only the database that this project is mirrored into. */
  readonly project?: ProjectConfig | undefined
  readonly signal: AbortSignal
  /** How many rows of an older version have been rewritten, and how many are left. */
  readonly onProgress: (rows: number, left: number) => void
}

/** Brings the warehouse to this version's schema, and its rows to this version's form. */
export function migrateWarehouse(
  config: Config,
  { project, signal, onProgress }: MigrationOptions,
): Promise<MigrationReport> {
  const rewrite = async ({ migration, rewriteRows, kind }: Warehouse) => {
    const rewritten = await rewriteRows({ isOver: () => signal.aborted, onProgress })
    return { ...(migration ?? noMigration), rewritten: { ...rewritten, kind } }
  }
  // If one of several databases is away, the others are migrated all the same.
  return withWarehouse(databasesFor(config, project), rewrite, { keys: 'later', mayBeAway: true })
}

/** Brings the warehouse to this version's schema, and lets a role of Postgres read the objects for analysts. */
export function grantToAnalyst(
  config: Config,
  role: string,
  project?: ProjectConfig,
): Promise<MigrationSummary & GrantReport> {
  return withWarehouse(databasesFor(config, project), async ({ migration, grantToAnalyst: grant }) => {
    const granted = await grant(role)
    return { ...(migration ?? noMigration), ...granted }
  })
}

/** All databases, or that of one project. */
function databasesFor(config: Config, project: ProjectConfig | undefined): Databases {
  return project === undefined ? config : ownDatabase(config, project)
}
