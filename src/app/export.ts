/** Runs `export`: reads the warehouse, and writes files or standard output. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ExportProgress, ExportReport } from '../core/export.ts'
import { UserError } from '../core/user-error.ts'
import { type ExportRequest, exportObjects } from '../export/export-objects.ts'
import { databaseUrls, ownDatabase } from '../warehouse/databases.ts'
import { withWarehouse } from './with-resources.ts'

export type ExportOptions = {
  /** Whether to count the rows of tables first, for an estimate. */
  readonly countFirst: boolean
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

/** Not retried when the warehouse is away: what was read so far would no longer be of one state. */
export async function exportFromWarehouse(
  config: Config,
  project: ProjectConfig | null,
  request: ExportRequest,
  options: ExportOptions,
): Promise<ExportReport> {
  const began = performance.now()
  if (project === null && databaseUrls(config).length > 1) throw severalDatabasesError()
  const exported = await withWarehouse(
    project === null ? config : ownDatabase(config, project),
    (warehouse) => warehouse.withSnapshot((snapshot) => exportObjects(request, { snapshot, ...options })),
    { access: 'read', readOnly: true },
  )
  return { ...exported, tookMs: Math.round(performance.now() - began) }
}

function severalDatabasesError(): UserError {
  return new UserError({
    what: 'cannot export all projects at once',
    why: 'they are mirrored into several databases (`database_url` in deskmirror.yaml)',
    next: 'name one with --project',
    exitCode: 2,
  })
}
