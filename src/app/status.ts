/** Reads the status of a project. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { StatusReport } from '../maintenance/maintenance.ts'
import { readStatus as readStatusOf } from '../maintenance/sql/status-report.ts'
import { withWarehouse } from './open.ts'

/** Throws UserError, also if nothing was ever mirrored. */
export function readStatus(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const { name, projectId, streams } = project
  return withWarehouse(
    config,
    async ({ projectDb }) => {
      const status = await readStatusOf(projectDb(projectId), Date.now(), project, streams)
      return { ...status, project: name }
    },
    { access: 'read', readOnly: true },
  )
}
