/** Reviews a file before it is queued, or a batch: from the mirror, without a request. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ImportFile } from '../imports/imports.ts'
import { fileSource } from '../imports/open-file.ts'
import { requireBatch } from '../outbox/decide.ts'
import type { OnReviews, ReviewOutcome, ReviewSummary, SelectionDigest } from '../outbox/outbox.ts'
import { reviewBatch, reviewSource } from '../outbox/review-rows.ts'
import { createOutbox, withOutboxSnapshot } from '../outbox/sql/outbox.ts'
import type { EpochMs } from '../values/time.ts'
import type { Warehouse } from './open.ts'
import { withOutbox } from './outbox.ts'

export type ReviewOptions = { readonly now: EpochMs; readonly onReviews: OnReviews | null }

/** What the valid rows of a file would do. Queues nothing. */
export function reviewImportFile(
  { projectId }: ProjectConfig,
  warehouse: Warehouse,
  file: ImportFile,
  { now, onReviews, expiresAt }: ReviewOptions & { readonly expiresAt: string | null },
): Promise<ReviewSummary> {
  const reader = createOutbox(warehouse.projectDb(projectId))
  return reviewSource(fileSource(file, expiresAt), { reader, now }, onReviews)
}

/** What the rows of a batch would do that have not left. `drafts`: names those of them. */
export function reviewQueuedBatch(
  config: Config,
  project: ProjectConfig,
  batch: string,
  { now, onReviews }: ReviewOptions,
): Promise<{ readonly review: ReviewSummary; readonly drafts: SelectionDigest }> {
  return withOutbox(config, project, (_, warehouse) =>
    withOutboxSnapshot(warehouse.projectDb(project.projectId), (reader) =>
      reviewBatch(reader, batch, now, onReviews),
    ),
  )
}

/** The ids, in the order of the queue. `batch` may be shortened. */
export async function selectByOutcome(
  config: Config,
  project: ProjectConfig,
  batch: string,
  { outcomes, now }: { readonly outcomes: readonly ReviewOutcome[]; readonly now: EpochMs },
): Promise<readonly string[]> {
  const { id } = await withOutbox(config, project, (outbox) => requireBatch(outbox, batch))
  const ids: string[] = []
  const onReviews: OnReviews = async (reviews) => {
    for (const review of reviews)
      if (review.id !== null && outcomes.includes(review.outcome)) ids.push(review.id)
  }
  await reviewQueuedBatch(config, project, id, { now, onReviews })
  return ids
}
