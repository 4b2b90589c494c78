/** Opens what an import of write-backs needs, and runs the import or its preview. */

import type { Config, ProjectConfig } from '../config/config.ts'
import { openImportBuffer } from '../outbox/import/import-buffer.ts'
import { checkFile, importRequests, needsApproval, toQueuedImport } from '../outbox/import/import-file.ts'
import type {
  CheckFileOptions,
  CheckResult,
  ImportFile,
  ImportOptions,
  ImportReport,
  OnReviews,
  Outbox,
  PreviewReport,
  QueuedImport,
  ReviewSummary,
} from '../outbox/outbox.ts'
import type { ProjectName } from '../values/project.ts'
import type { WarehouseRetryOptions } from '../warehouse/retry.ts'
import { countUnsettled, estimateSending, openOutbox, withOutbox } from './outbox.ts'
import { type ReviewOptions, reviewImportFile } from './review.ts'
import { withWarehouseRetries } from './with-warehouse.ts'

export type ImportSource = Pick<ImportFile, 'name' | 'parse'> & {
  /** A path, or a stream. */
  readonly source: string | AsyncIterable<Uint8Array>
}

/** Queues all rows of a file, or none. Throws UserError if it cannot be read. */
export function importWritebacks(
  config: Config,
  project: ProjectConfig,
  source: ImportSource,
  options: Omit<ImportOptions, 'approveOver' | 'project' | 'lookups' | 'onChecked'> &
    Pick<WarehouseRetryOptions, 'notify'> & {
      readonly onReviews: OnReviews | null
      /** Called before anything is queued. */
      readonly onReview: (review: ReviewSummary) => Promise<void>
    },
): Promise<ImportReport> {
  const { approveOver, name } = project
  return withImportBuffer(source, (file) =>
    withWarehouseRetries(config, options, async (warehouse) => {
      const outbox = await openOutbox(config, project, warehouse)
      const ahead = await countUnsettled(outbox)
      const checks: CheckResult[] = []
      const onChecked = async (check: CheckResult) => {
        const reviewOptions = { ...options, check: null }
        if (checks.length === 0)
          await options.onReview((await reviewImportFile(config, project, warehouse, file, reviewOptions)).review)
        checks.push(check)
      }
      const importOptions = { ...options, onChecked, project: name, approveOver, lookups: outbox }
      // The same bytes are never queued twice, so the whole import can be retried.
      const result = await warehouse.retry.run(() => importRequests(outbox, file, importOptions))
      const check = checks.at(-1)
      // An attempt found no earlier import, so it committed, and only its response was lost.
      const isOwn = result.outcome === 'imported before' && check !== undefined
      const queued = isOwn ? await readQueuedImport(outbox, name, result.batch, check) : result
      if (queued.outcome === 'mistaken' || queued.outcome === 'imported before') return queued
      return { ...queued, ...(await estimateSending(warehouse, project, ahead, queued.queued)) }
    }),
  )
}

async function readQueuedImport(
  outbox: Outbox,
  project: ProjectName,
  batch: string,
  check: CheckResult,
): Promise<QueuedImport> {
  const counts = await outbox.countByStatus({ batch })
  const queued = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const outcome = counts.draft === undefined ? 'queued' : 'draft'
  return { ...toQueuedImport(project, outcome, check), batch, queued, known: Math.max(0, check.validRows - queued) }
}

type PreviewOptions = Omit<CheckFileOptions, 'project' | 'lookups' | 'onProgress'> &
  ReviewOptions & {
    readonly expiresAt: string | null
    /** More rows than this need approval, as does every import with `draft`. */
    readonly draft: boolean
  }

/** Shows what an import would change. Queues and sends nothing. Throws UserError if a check finds that the service does not answer. */
export function previewImport(
  config: Config,
  project: ProjectConfig,
  source: ImportSource,
  options: PreviewOptions,
): Promise<PreviewReport> {
  const { name, approveOver } = project
  return withImportBuffer(source, (file) =>
    withOutbox(config, project, async (outbox, warehouse): Promise<PreviewReport> => {
      const checked = await checkFile(outbox, file, {
        ...options,
        project: name,
        lookups: outbox,
        onProgress: () => {},
      })
      if ('outcome' in checked) return checked
      return {
        outcome: 'reviewed',
        project: name,
        ...(await reviewImportFile(config, project, warehouse, file, options)),
        draft: needsApproval(checked.validRows, { approveOver, draft: options.draft }),
        ...(await estimateSending(warehouse, project, await countUnsettled(outbox), checked.validRows)),
      }
    }),
  )
}

async function withImportBuffer<T>(
  { source, name, parse }: ImportSource,
  work: (file: ImportFile) => Promise<T>,
): Promise<T> {
  const buffer = await openImportBuffer(source)
  try {
    return await work({ buffer, name, parse })
  } finally {
    await buffer.close()
  }
}
