/** Runs `status`, which needs only the warehouse. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { StatusReport } from '../core/command-reports.ts'
import { readStatusFrom } from '../warehouse/status-reader.ts'

/** Throws UserError if nothing was ever mirrored. */
export async function readStatus(config: Config, project: ProjectConfig): Promise<StatusReport> {
  const { name, projectId, streams } = project
  const query = { project: projectId, now: Date.now(), policy: project, streams }
  return { ...(await readStatusFrom(config.databaseUrl, config.databaseSetting, query)), project: name }
}
