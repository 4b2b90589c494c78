/** Opens what a review needs, and reviews a file before it is queued, or a batch; on request against the service, too. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { ApiError } from '../core/api-failure.ts'
import type { BudgetView } from '../core/command-reports.ts'
import type { SelectionDigest } from '../core/outbox/batches.ts'
import type { ReviewSummary } from '../core/outbox/review-summary.ts'
import type { EpochMs } from '../core/time.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { OutboxAdmin } from '../warehouse/outbox/admin.ts'
import { approvable } from '../writeback/decide.ts'
import { type ImportFile, readImportLines } from '../writeback/import/import-file.ts'
import type { CheckDeps } from '../writeback/review/check-rows.ts'
import type { LaneEnds } from '../writeback/review/review-rows.ts'
import {
  batchSource,
  checkBatch,
  checkImport,
  importSource,
  type OnReviews,
  type ReviewParts,
  reviewBatch,
  reviewImport,
} from '../writeback/review/review-source.ts'
import { withOutbox } from './outbox.ts'
import { withRequestCounting } from './request-counting.ts'
import { fatalRunError, reportBudget, withService } from './service.ts'
import { withRequestBudgets } from './with-resources.ts'
import { writebackDeps } from './writeback-deps.ts'

/** A check with the service. */
export type CheckRequest = {
  /** How many rows to check, the first ones. */
  readonly limit: number
  readonly signal: AbortSignal
  readonly onProgress: (rows: number) => void
  readonly onBudget: (budget: BudgetView) => void
  readonly log: Logger
}

export type ReviewOptions = {
  readonly now: EpochMs
  readonly onReviews: OnReviews | null
  /** Null: without any request. */
  readonly check: CheckRequest | null
}

/** `requests`: how many the check needed. */
export type ReviewReport = { readonly review: ReviewSummary; readonly requests: number }

/** `drafts`: names those that were reviewed. */
export type BatchReviewReport = ReviewReport & { readonly drafts: SelectionDigest }

type Opened = { readonly admin: OutboxAdmin; readonly warehouse: Warehouse }

/** `laneEnds`: of its rows, which were all read for the check of the file. */
type ImportReviewOptions = ReviewOptions & { readonly expiresAt: string | null; readonly laneEnds: LaneEnds }

/** What the valid rows of a file would do. Queues nothing. Throws UserError if the service is asked and cannot answer. */
export async function reviewImportFile(
  config: Config,
  project: ProjectConfig,
  opened: Opened,
  file: ImportFile,
  { now, onReviews, check, expiresAt, laneEnds }: ImportReviewOptions,
): Promise<ReviewReport> {
  const source = importSource(() => readImportLines(file), { expiresAt, laneEnds })
  const checked = await askService(config, project, opened, check, (deps, limit) => checkImport(source, deps, limit))
  const review = await reviewImport(source, partsOf(opened, project, now), checked.result ?? new Map(), onReviews)
  return { review, requests: checked.requests }
}

/** What the rows of a batch that have not left would do. The results of a check are stored. */
export function reviewQueuedBatch(
  config: Config,
  project: ProjectConfig,
  batch: string,
  { now, onReviews, check }: ReviewOptions,
): Promise<BatchReviewReport> {
  return withOutbox(config, project, async (admin, warehouse) => {
    const opened = { admin, warehouse }
    const { requests } = await askService(config, project, opened, check, (deps, limit) =>
      checkBatch(batchSource(deps.reader, batch), deps, limit),
    )
    return warehouse.outboxSnapshot(project.projectId, async ({ reader, admin: { findDuplicateRefs, digestOf } }) => {
      const review = await reviewBatch(batchSource(reader, batch), { reader, findDuplicateRefs, now }, onReviews)
      return { review, drafts: await digestOf({ batch, statuses: approvable }), requests }
    })
  })
}

function partsOf({ admin, warehouse }: Opened, { projectId }: ProjectConfig, now: EpochMs): ReviewParts {
  return { reader: warehouse.reviewReader(projectId), findDuplicateRefs: admin.findDuplicateRefs, now }
}

/** Reads only. Throws UserError if the service denies the key or does not answer. */
async function askService<T>(
  config: Config,
  project: ProjectConfig,
  opened: Opened,
  check: CheckRequest | null,
  work: (deps: CheckDeps, limit: number) => Promise<T>,
): Promise<{ readonly result: T | null; readonly requests: number }> {
  if (check === null || check.limit === 0) return { result: null, requests: 0 }
  const { limit, signal, log, onProgress, onBudget } = check
  const { warehouse } = opened
  const { now: _, ...parts } = partsOf(opened, project, 0)
  return withRequestBudgets(config, warehouse, log, (budgets) =>
    withService({ ...project, readOnly: true }, budgets.forProject(project), { signal, log }, async (service) => {
      const onChecked = (rows: number) => {
        onProgress(rows)
        reportBudget(service, onBudget)
      }
      const deps: CheckDeps = { ...(await writebackDeps(warehouse, project, service, log)), ...parts, onChecked }
      try {
        const result = await withRequestCounting(warehouse, project, 'dry_run', service, () => work(deps, limit))
        return { result, requests: service.client.requestCount() }
      } catch (error) {
        if (!(error instanceof ApiError) || error.failure.kind === 'aborted') throw error
        throw fatalRunError(project, error.failure, service.client.hasServiceResponded())
      }
    }),
  )
}
