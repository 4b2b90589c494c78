/** Runs `export`: reads the warehouse, and writes files or standard output. */
import type { Config } from '../config/config.ts'
import type { ExportProgress, ExportReport, ExportRequest } from '../export/export.ts'
import { exportObjects } from '../export/export-objects.ts'
import { withSnapshot } from '../export/sql/snapshot.ts'
import { withWarehouse } from './open.ts'

type ExportOptions = {
  /** Whether to count the rows of tables first, for an estimate. */
  readonly countFirst: boolean
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

/** Not retried when the warehouse is away: what was read so far would no longer be of one state. */
export async function exportFromWarehouse(
  config: Config,
  request: ExportRequest,
  options: ExportOptions,
): Promise<ExportReport> {
  const began = performance.now()
  const exported = await withWarehouse(
    config,
    (warehouse) =>
      withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
        exportObjects(request, { snapshot, ...options }),
      ),
    { access: 'read', signal: options.signal },
  )
  return { ...exported, tookMs: Math.round(performance.now() - began) }
}
