/** Opens what an import of write-backs needs, and runs the import or its preview. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { ApiError } from '../core/api-failure.ts'
import type { BudgetView } from '../core/command-reports.ts'
import type { OutboxAdmin } from '../core/outbox/admin.ts'
import type { ImportReport, PreviewReport, QueuedImport, RejectedImport } from '../core/outbox/reports.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { checkLines } from '../writeback/import/check-lines.ts'
import { openImportBuffer } from '../writeback/import/import-buffer.ts'
import {
  type ImportFile,
  type ImportOptions,
  importRequests,
  needsApproval,
  readImportLines,
  shortDigest,
} from '../writeback/import/import-file.ts'
import type { ImportLine } from '../writeback/import/parse-lines.ts'
import { type PreviewDeps, previewLines, type ValidLine } from '../writeback/import/preview.ts'
import { countUnsettled, estimateSending, withOutbox, withRetryingOutbox } from './outbox.ts'
import { withRequestCounting } from './request-counting.ts'
import { fatalRunError, reportBudget, withService } from './service.ts'
import type { WarehouseRetry, WarehouseRetryOptions } from './warehouse-retry.ts'
import { withRequestBudgets } from './with-resources.ts'
import { writebackDeps } from './writeback-deps.ts'

export type ImportSource = Pick<ImportFile, 'name' | 'format'> & {
  /** A path, or a stream. */
  readonly source: string | AsyncIterable<Uint8Array>
}

/** Queues all lines of a file, or none. Throws UserError if it cannot be read. */
export function importWritebacks(
  config: Config,
  project: ProjectConfig,
  source: ImportSource,
  options: Omit<ImportOptions, 'approveOver' | 'project'> & Pick<WarehouseRetryOptions, 'notify'>,
): Promise<ImportReport> {
  const importOptions = { ...options, project: project.name, approveOver: project.approveOver }
  return withImportBuffer(source, (file) =>
    withRetryingOutbox(config, project, options, async (admin, warehouse, warehouseRetry) => {
      const ahead = await countUnsettled(admin)
      const result = await importWithRetries(admin, file, importOptions, warehouseRetry)
      if (result.outcome === 'mistaken' || result.outcome === 'imported before') return result
      return { ...result, ...(await estimateSending(warehouse, project, ahead, result.queued)) }
    }),
  )
}

/** The same bytes are never queued twice, so the whole import can be retried. */
async function importWithRetries(
  admin: OutboxAdmin,
  file: ImportFile,
  options: ImportOptions,
  warehouseRetry: WarehouseRetry,
): Promise<RejectedImport | QueuedImport> {
  let [tries, rows] = [0, 0]
  const onQueueing = (count: number) => {
    rows = count
    options.onQueueing(count)
  }
  const result = await warehouseRetry.run(() => {
    tries += 1
    return importRequests(admin, file, { ...options, onQueueing })
  })
  if (tries === 1 || result.outcome !== 'imported before') return result
  // The first attempt found no earlier import, so that attempt committed and only its response was lost.
  const counts = await admin.countByStatus({ batch: result.batch })
  const queued = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const outcome = counts.draft === undefined ? 'queued' : 'draft'
  return { ...result, outcome, queued, known: Math.max(0, rows - queued) }
}

type PreviewOptions = {
  /** How many lines are compared with their records. */
  readonly limit: number
  readonly expiresAt: string | null
  readonly signal: AbortSignal
  readonly onProgress: PreviewDeps['onProgress']
  readonly onBudget: (budget: BudgetView) => void
  readonly log: Logger
}

/** Shows what an import would change. Queues and sends nothing. Throws UserError if the service denies the key or does not answer. */
export function previewImport(
  config: Config,
  project: ProjectConfig,
  source: ImportSource,
  options: PreviewOptions,
): Promise<PreviewReport> {
  const { name } = project
  return withImportBuffer(source, (file) =>
    withOutbox(config, project, async (admin, warehouse): Promise<PreviewReport> => {
      const batch = await admin.importedAs(shortDigest(file))
      if (batch !== null) return { outcome: 'imported before', project: name, batch }
      const checkResult = await checkLines(readImportLines(file), Date.now())
      const { validLines: rows, mistakenLines: mistaken, mistakes } = checkResult
      if (mistaken > 0) return { outcome: 'mistaken', project: name, mistaken, mistakes }
      const validLines = await readValidLines(readImportLines(file), options.limit)
      return {
        outcome: 'looked',
        project: name,
        ...(await previewWithService(config, project, { admin, warehouse }, validLines, options)),
        beyond: rows - validLines.length,
        draft: needsApproval(rows, project.approveOver),
        ...(await estimateSending(warehouse, project, await countUnsettled(admin), rows)),
      }
    }),
  )
}

function previewWithService(
  config: Config,
  project: ProjectConfig,
  { admin, warehouse }: { readonly admin: OutboxAdmin; readonly warehouse: Warehouse },
  validLines: readonly ValidLine[],
  { signal, log, expiresAt, onProgress, onBudget }: PreviewOptions,
) {
  return withRequestBudgets(config, warehouse, log, (budgets) =>
    withService({ ...project, readOnly: true }, budgets.forProject(project), { signal, log }, async (service) => {
      const deps: PreviewDeps = {
        ...writebackDeps(warehouse, project, service, log),
        findDuplicateRefs: admin.findDuplicateRefs,
        expiresAt,
        onProgress: (count) => {
          onProgress(count)
          reportBudget(service, onBudget)
        },
      }
      try {
        const lines = await withRequestCounting(warehouse, project, 'dry_run', service, () =>
          previewLines(deps, validLines),
        )
        return { lines, requests: service.client.requestCount() }
      } catch (error) {
        if (!(error instanceof ApiError) || error.failure.kind === 'aborted') throw error
        throw fatalRunError(project, error.failure, service.client.hasServiceResponded())
      }
    }),
  )
}

/** Stops reading after `limit` lines. */
async function readValidLines(lines: AsyncIterable<ImportLine>, limit: number): Promise<readonly ValidLine[]> {
  const first: ValidLine[] = []
  if (limit === 0) return first
  for await (const { line, result } of lines) {
    if (result.ok) first.push({ line, request: result.request })
    if (first.length >= limit) break
  }
  return first
}

async function withImportBuffer<T>(
  { source, name, format }: ImportSource,
  work: (file: ImportFile) => Promise<T>,
): Promise<T> {
  const buffer = await openImportBuffer(source)
  try {
    return await work({ buffer, name, format })
  } finally {
    await buffer.close()
  }
}
