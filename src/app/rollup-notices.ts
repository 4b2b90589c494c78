/** Once a day, at the end of a sync run: whether the service's rollups still count what they were found to count. */
import type { ProjectConfig } from '../config/config.ts'
import type { SyncResult } from '../sync/sync.ts'
import type { Warehouse } from '../warehouse/open.ts'

/** Not after a run that was stopped: the next one compares. */
export async function withRollupNotices(
  warehouse: Warehouse,
  project: ProjectConfig,
  run: SyncResult,
): Promise<SyncResult> {
  if (run.outcome === 'interrupted' || run.fatalFailure !== null) return run
  const rollups = warehouse.rollups(project.projectId, project)
  const learned = await rollups.learnIfDue()
  if (learned === null) return run
  await rollups.store(learned)
  return { ...run, notices: [...run.notices, ...learned.notices] }
}
