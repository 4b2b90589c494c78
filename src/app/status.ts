/** Runs `status`, which needs only the warehouse. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { StatusReport } from '../maintenance/core/reports.ts'
import { readStatusFrom } from '../maintenance/sql/status-reader.ts'

/** Throws UserError if nothing was ever mirrored. */
export async function readStatus(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const { name, projectId, streams } = project
  const query = { project: projectId, now: Date.now(), policy: project, streams }
  return { ...(await readStatusFrom(config.databaseUrl, config.databaseSetting, query)), project: name }
}
