/** Runs `export`: reads the warehouse, and writes files, standard output or a lake. */
import type { Config } from '../config/config.ts'
import type {
  ExportProgress,
  ExportReport,
  ExportRequest,
  ExportSnapshot,
  LakeReport,
  LakeRequest,
} from '../export/export.ts'
import { exportObjects } from '../export/export-objects.ts'
import { writeLake } from '../export/lake/write-lake.ts'
import { withSnapshot } from '../export/sql/snapshot.ts'
import type { Ms } from '../values/time.ts'
import { withWarehouse } from './open.ts'

type ExportOptions = {
  /** Whether to count the rows of tables first, for an estimate. */
  readonly countFirst: boolean
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

export async function exportFromWarehouse(
  config: Config,
  request: ExportRequest,
  options: ExportOptions,
): Promise<ExportReport> {
  return inSnapshot(config, options.signal, (snapshot) =>
    exportObjects(request, { snapshot, ...options }),
  )
}

export async function exportLake(
  config: Config,
  request: LakeRequest,
  options: Omit<ExportOptions, 'countFirst'>,
): Promise<LakeReport> {
  return inSnapshot(config, options.signal, (snapshot) =>
    writeLake(request, { snapshot, now: Date.now, ...options }),
  )
}

/** Not retried when the warehouse is away: what was read so far would no longer be of one state. */
async function inSnapshot<T extends object>(
  config: Config,
  signal: AbortSignal,
  work: (snapshot: ExportSnapshot) => Promise<T>,
): Promise<T & { readonly tookMs: Ms }> {
  const began = performance.now()
  const done = await withWarehouse(
    config,
    (warehouse) => withSnapshot(warehouse.db, warehouse.pool, work),
    { access: 'read', signal },
  )
  return { ...done, tookMs: Math.round(performance.now() - began) }
}
