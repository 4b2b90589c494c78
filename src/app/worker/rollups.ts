/** Whether rollups must be read before their next schedule firing. Reads the warehouse only. */
import type { ProjectConfig } from '../../config/config.ts'
import { findRollupHistory } from '../../sync/rollup-history.ts'
import type { Warehouse } from '../../warehouse/open.ts'

export async function areRollupsBehind(warehouse: Warehouse, project: ProjectConfig): Promise<boolean> {
  const { projectId, streams, startDate, timeZone, schedules } = project
  if (!streams.includes('analytics') || schedules.analytics.kind === 'off') return false
  const mirror = warehouse.mirror(projectId)
  if ((await mirror.readStreamStandings(['analytics'])).get('analytics') === 'skipped') return false
  const history = await findRollupHistory({ mirror, mirrored: new Set(streams), startDate })
  if (history.kind === 'waiting') return false
  const stored = await mirror.rollups()
  const first = stored.at(-1)
  if (first === undefined || stored.some((rollup) => rollup.timeZone !== timeZone)) return true
  return history.kind === 'known' && history.from < first.from
}
