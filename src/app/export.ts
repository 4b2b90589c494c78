/** Runs `export`: reads the warehouse, and writes files, standard output or a lake. */
import type {
  ExportDeps,
  ExportReport,
  ExportRequest,
  ExportSnapshot,
  LakeReport,
  LakeRequest,
} from '../export/export.ts'
import { exportObjects } from '../export/export-objects.ts'
import { writeLake } from '../export/lake/write-lake.ts'
import { withSnapshot } from '../export/sql/snapshot.ts'
import { snapshotOfAnswer } from '../export/statement-answer.ts'
import type { Ms } from '../values/time.ts'
import { openBoundedQuery } from '../warehouse/bounded-query.ts'
import { type DatabaseAddress, withWarehouse } from './open.ts'

type ExportOptions = Omit<ExportDeps, 'snapshot'>

export async function exportFromWarehouse(
  config: DatabaseAddress,
  request: ExportRequest,
  options: ExportOptions,
): Promise<ExportReport> {
  return inSnapshot(config, options.signal, (snapshot) =>
    exportObjects(request, { snapshot, ...options }),
  )
}

export async function exportLake(
  config: DatabaseAddress,
  request: LakeRequest,
  options: Omit<ExportOptions, 'countFirst'>,
): Promise<LakeReport> {
  return inSnapshot(config, options.signal, (snapshot) =>
    writeLake(request, { snapshot, now: Date.now, ...options }),
  )
}

/** For whoever waits for a file, longer than for an assistant. */
const queryLimitMs: Ms = 60_000

/** The answer to a statement that reads, whole or refused, as an object. Throws UserError. */
export async function exportQuery(
  { databaseUrl, databaseSetting = 'DESKMIRROR_DATABASE_URL' }: DatabaseAddress,
  { name, statement }: { readonly name: string; readonly statement: string },
  request: Omit<ExportRequest, 'objects'>,
  options: Omit<ExportOptions, 'countFirst'>,
): Promise<ExportReport> {
  const began = performance.now()
  const query = await openBoundedQuery(databaseUrl, databaseSetting, queryLimitMs, 'file')
  const answer = await query.run(statement).finally(query.close)
  const snapshot = snapshotOfAnswer(name, answer)
  const deps = { snapshot, countFirst: false, ...options }
  const report = await exportObjects({ ...request, objects: [name] }, deps)
  return { ...report, tookMs: Math.round(performance.now() - began) }
}

/** Not retried when the warehouse is away: what was read so far would no longer be of one state. */
async function inSnapshot<T extends object>(
  address: DatabaseAddress,
  signal: AbortSignal,
  work: (snapshot: ExportSnapshot) => Promise<T>,
): Promise<T & { readonly tookMs: Ms }> {
  const began = performance.now()
  const done = await withWarehouse(
    address,
    (warehouse) => withSnapshot(warehouse.db, warehouse.pool, work),
    { access: 'read', signal },
  )
  return { ...done, tookMs: Math.round(performance.now() - began) }
}
