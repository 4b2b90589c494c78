/** Makes rows follow decisions about whole batches. */
import type { ProjectDb } from '../database/project-db.ts'
import { applyStops } from './batch-stops.ts'
import { applyCancellations } from './cancellations.ts'

/** Updates rows until all follow, or until `until` (by `performance.now`). True if all follow. */
export async function followDecisions(context: ProjectDb, until: number): Promise<boolean> {
  return (await applyCancellations(context, until)) && (await applyStops(context, until))
}
