/** `check` with real parts: questions whose answers tell whether a sync can work. Changes nothing, here or there. */
import { checkService } from '../check/check-service.ts'
import type { Config, ProjectConfig } from '../config/load.ts'
import type { CheckItem } from '../core/report.ts'
import { UserError } from '../core/user-error.ts'
import { findExposedFiles } from '../warehouse/database/sqlite-file.ts'
import { EmptyWarehouseError } from '../warehouse/database/migrate.ts'
import { withRequestBudgetsOnly } from './with-resources.ts'
import { type ServiceOptions, withService } from './service.ts'
import { readStatus } from './status.ts'

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

/** Whoever may read the file reads what the customers wrote. */
function checkFiles({ databaseUrl }: Config): CheckItem[] {
  const exposed = findExposedFiles(databaseUrl)
  if (exposed.length === 0) return []
  const detail = `other users of this machine may read ${exposed.map(({ path, mode }) => `${path} (mode ${mode})`).join(', ')}`
  const hint = `unless that is wanted: chmod go= ${exposed.map(({ path }) => path).join(' ')}`
  return [{ name: 'files', state: 'warning', detail, hint }]
}

async function checkWarehouse(config: Config, project: ProjectConfig): Promise<CheckItem> {
  try {
    const report = await readStatus(config, project)
    const rows = report.streams.reduce((sum, stream) => sum + stream.rows, 0)
    const detail = `${rows} rows mirrored, ${report.behaviours.length} facts learned about the service`
    return { name: 'warehouse', state: 'ok', detail, hint: null }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (error instanceof EmptyWarehouseError) {
      return { name: 'warehouse', state: 'ok', detail: 'empty; the first `deskmirror sync` fills it', hint: null }
    }
    return { name: 'warehouse', state: 'error', detail: `${error.what}: ${error.why}`, hint: error.next }
  }
}
