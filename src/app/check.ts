/** Runs `check`: requests and queries that show whether a sync can work. Changes nothing. */
import { checkService } from '../check/check-service.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { CheckItem } from '../core/command-reports.ts'
import { UserError } from '../core/user-error.ts'
import { EmptyWarehouseError } from '../warehouse/database/schema-version.ts'
import { findExposedFiles } from '../warehouse/database/sqlite-file.ts'
import { databaseUrls } from '../warehouse/databases.ts'
import { type ServiceOptions, withService } from './service.ts'
import { readStatus } from './status.ts'
import { withRequestBudgetsOnly } from './with-resources.ts'

export async function checkProject(
  config: Config,
  project: ProjectConfig,
  options: Pick<ServiceOptions, 'signal' | 'log'>,
): Promise<readonly CheckItem[]> {
  return withRequestBudgetsOnly(config, options.log, (budgets) =>
    withService(project, budgets.forProject(project), options, async ({ client }) => {
      const service = await checkService(client.get, project.projectId, Math.floor(Date.now() / 1000))
      return [...service, await checkWarehouse(config, project), ...checkFiles(config)]
    }),
  )
}

/** A user who may read the file can read the customers' messages. */
function checkFiles(config: Config): CheckItem[] {
  const exposed = databaseUrls(config).flatMap(findExposedFiles)
  if (exposed.length === 0) return []
  const detail = `other users of this machine may read ${exposed.map(({ path, mode }) => `${path} (mode ${mode})`).join(', ')}`
  const hint = `unless this is intended: chmod go= ${exposed.map(({ path }) => path).join(' ')}`
  return [{ name: 'files', state: 'warning', detail, hint }]
}

async function checkWarehouse(config: Config, project: ProjectConfig): Promise<CheckItem> {
  try {
    const report = await readStatus(config, project)
    const rows = report.streams.reduce((sum, stream) => sum + stream.rows, 0)
    const detail = `${rows} rows mirrored, ${report.behaviours.length} behaviours of the service learned`
    return { name: 'warehouse', state: 'ok', detail, hint: null }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (error instanceof EmptyWarehouseError) {
      return { name: 'warehouse', state: 'ok', detail: 'empty; the first `deskmirror sync` fills it', hint: null }
    }
    return { name: 'warehouse', state: 'error', detail: `${error.what}: ${error.why}`, hint: error.next }
  }
}
