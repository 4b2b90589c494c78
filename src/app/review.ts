/** Opens what a review needs, and reviews a file before it is queued, or a batch; on request against the service, too. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { SelectionDigest } from '../outbox/core/batches.ts'
import type { ReviewOutcome } from '../outbox/core/review.ts'
import type { ReviewSummary } from '../outbox/core/review-summary.ts'
import { approvable } from '../outbox/decide.ts'
import { requireBatch } from '../outbox/find-batch.ts'
import { type ImportFile, readImportLines } from '../outbox/import/import-file.ts'
import type { CheckDeps } from '../outbox/review/check-rows.ts'
import type { LaneEnds } from '../outbox/review/review-rows.ts'
import {
  batchSource,
  checkBatch,
  checkImport,
  importSource,
  type OnReviews,
  reviewBatch,
  reviewImport,
} from '../outbox/review/review-source.ts'
import { ApiError } from '../service/core/api-failure.ts'
import type { BudgetView } from '../service/core/budget.ts'
import type { EpochMs } from '../values/time.ts'
import type { Warehouse } from './open.ts'
import { withOutbox } from './outbox.ts'
import { withRequestCounting } from './request-counting.ts'
import { fatalRunError, reportBudget, withService } from './service.ts'
import { withRequestBudgets } from './with-resources.ts'
import { writebackDeps } from './writeback-deps.ts'

/** A check with the service. */
type CheckRequest = {
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
type ReviewReport = { readonly review: ReviewSummary; readonly requests: number }

/** `drafts`: names those that were reviewed. */
type BatchReviewReport = ReviewReport & { readonly drafts: SelectionDigest }

/** `laneEnds`: of its rows, which were all read for the check of the file. */
type ImportReviewOptions = ReviewOptions & { readonly expiresAt: string | null; readonly laneEnds: LaneEnds }

/** What the valid rows of a file would do. Queues nothing. Throws UserError if the service is asked and cannot answer. */
export async function reviewImportFile(
  config: Config,
  project: ProjectConfig,
  warehouse: Warehouse,
  file: ImportFile,
  { now, onReviews, check, expiresAt, laneEnds }: ImportReviewOptions,
): Promise<ReviewReport> {
  const source = importSource(() => readImportLines(file), { expiresAt, laneEnds })
  const checked = await askService(config, project, warehouse, check, (deps, limit) => checkImport(source, deps, limit))
  const review = await reviewImport(
    source,
    { reader: warehouse.outbox(project.projectId), now },
    checked.result ?? new Map(),
    onReviews,
  )
  return { review, requests: checked.requests }
}

/** What the rows of a batch that have not left would do. The results of a check are stored. */
export function reviewQueuedBatch(
  config: Config,
  project: ProjectConfig,
  batch: string,
  { now, onReviews, check }: ReviewOptions,
): Promise<BatchReviewReport> {
  return withOutbox(config, project, async (_, warehouse) => {
    const { requests } = await askService(config, project, warehouse, check, (deps, limit) =>
      checkBatch(batchSource(deps.reader, batch), deps, limit),
    )
    return warehouse.outboxSnapshot(project.projectId, async (reader) => {
      const review = await reviewBatch(batchSource(reader, batch), { reader, now }, onReviews)
      return { review, drafts: await reader.digestOf({ batch, statuses: approvable }), requests }
    })
  })
}

/** Reads only. Throws UserError if the service denies the key or does not answer. */
async function askService<T>(
  config: Config,
  project: ProjectConfig,
  warehouse: Warehouse,
  check: CheckRequest | null,
  work: (deps: CheckDeps, limit: number) => Promise<T>,
): Promise<{ readonly result: T | null; readonly requests: number }> {
  if (check === null || check.limit === 0) return { result: null, requests: 0 }
  const { limit, signal, log, onProgress, onBudget } = check
  const reader = warehouse.outbox(project.projectId)
  return withRequestBudgets(config, warehouse, log, (budgets) =>
    withService({ ...project, readOnly: true }, budgets.forProject(project), { signal, log }, async (service) => {
      const onChecked = (rows: number) => {
        onProgress(rows)
        reportBudget(service, onBudget)
      }
      const deps: CheckDeps = { ...(await writebackDeps(warehouse, project, service, log)), reader, onChecked }
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

type OutcomeSelection = {
  /** The name of the batch, or a unique beginning of it. */
  readonly batch: string
  readonly outcomes: readonly ReviewOutcome[]
  readonly now: EpochMs
}

/** The ids, in the order of the queue. According to the mirror and to earlier checks, without a request. */
export async function selectByOutcome(
  config: Config,
  project: ProjectConfig,
  { batch, outcomes, now }: OutcomeSelection,
): Promise<readonly string[]> {
  const { id } = await withOutbox(config, project, (admin) => requireBatch(admin, batch))
  const ids: string[] = []
  const onReviews = async (reviews: readonly { readonly id: string | null; readonly outcome: ReviewOutcome }[]) => {
    for (const review of reviews) if (review.id !== null && outcomes.includes(review.outcome)) ids.push(review.id)
  }
  await reviewQueuedBatch(config, project, id, { now, onReviews, check: null })
  return ids
}
