/** Opens what a review needs, and reviews a file before it is queued, or a batch; on request against the service, too. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ImportFile } from '../imports/imports.ts'
import { fileSource } from '../imports/open-file.ts'
import type { Logger } from '../log.ts'
import { requireBatch } from '../outbox/decide.ts'
import type {
  OnReviews,
  Outbox,
  ReviewOutcome,
  ReviewSource,
  ReviewSummary,
  SelectionDigest,
} from '../outbox/outbox.ts'
import { checkSource } from '../outbox/review/check-rows.ts'
import { batchSource, reviewBatch, reviewSource } from '../outbox/review/review-rows.ts'
import { createOutbox, withOutboxSnapshot } from '../outbox/sql/outbox.ts'
import { ApiError } from '../service/core/api-failure.ts'
import type { BudgetView } from '../service/core/budget.ts'
import type { EpochMs } from '../values/time.ts'
import type { Warehouse } from './open.ts'
import { withOutbox } from './outbox.ts'
import { writebackDeps } from './push.ts'
import { withRequestBudgets } from './request-budgets.ts'
import { fatalRunError, reportBudget, withRequestCounting, withService } from './service.ts'

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

/** What the valid rows of a file would do. Queues nothing. Throws UserError if the service is asked and cannot answer. */
export async function reviewImportFile(
  config: Config,
  project: ProjectConfig,
  warehouse: Warehouse,
  file: ImportFile,
  { now, onReviews, check, expiresAt }: ReviewOptions & { readonly expiresAt: string | null },
): Promise<ReviewReport> {
  const source = fileSource(file, expiresAt)
  const requests = await askService(config, project, warehouse, source, check)
  const reader = createOutbox(warehouse.projectDb(project.projectId))
  return { review: await reviewSource(source, { reader, now }, onReviews), requests }
}

/** What the rows of a batch that have not left would do. The results of a check are stored. `drafts`: names those that were reviewed. */
export function reviewQueuedBatch(
  config: Config,
  project: ProjectConfig,
  batch: string,
  { now, onReviews, check }: ReviewOptions,
): Promise<ReviewReport & { readonly drafts: SelectionDigest }> {
  const { projectId } = project
  return withOutbox(config, project, async (_, warehouse) => {
    const checked = batchSource(createOutbox(warehouse.projectDb(projectId)), batch)
    const requests = await askService(config, project, warehouse, checked, check)
    const read = (reader: Outbox) => reviewBatch(reader, batch, now, onReviews)
    return { ...(await withOutboxSnapshot(warehouse.projectDb(projectId), read)), requests }
  })
}

/** Returns how many requests it needed. Reads only. Throws UserError if the service denies the key or does not answer. */
async function askService(
  config: Config,
  project: ProjectConfig,
  warehouse: Warehouse,
  source: ReviewSource,
  check: CheckRequest | null,
): Promise<number> {
  if (check === null || check.limit === 0) return 0
  const { limit, signal, log, onProgress, onBudget } = check
  const reader = createOutbox(warehouse.projectDb(project.projectId))
  return withRequestBudgets(config, warehouse, log, (budgets) =>
    withService({ ...project, readOnly: true }, budgets.forProject(project), { signal, log }, async (service) => {
      const onChecked = (rows: number) => {
        onProgress(rows)
        reportBudget(service, onBudget)
      }
      const deps = { ...(await writebackDeps(warehouse, project, service, log)), reader, onChecked }
      try {
        await withRequestCounting(warehouse, project, 'dry_run', service, () => checkSource(source, deps, limit))
        return service.client.requestCount()
      } catch (error) {
        if (!(error instanceof ApiError) || error.failure.kind === 'aborted') throw error
        throw fatalRunError(project, error.failure, service.client.hasServiceResponded())
      }
    }),
  )
}

/** The ids, in the order of the queue. According to the mirror and to earlier checks, without a request. `batch` may be shortened. */
export async function selectByOutcome(
  config: Config,
  project: ProjectConfig,
  batch: string,
  { outcomes, now }: { readonly outcomes: readonly ReviewOutcome[]; readonly now: EpochMs },
): Promise<readonly string[]> {
  const { id } = await withOutbox(config, project, (outbox) => requireBatch(outbox, batch))
  const ids: string[] = []
  const onReviews: OnReviews = async (reviews) => {
    for (const review of reviews) if (review.id !== null && outcomes.includes(review.outcome)) ids.push(review.id)
  }
  await reviewQueuedBatch(config, project, id, { now, onReviews, check: null })
  return ids
}
