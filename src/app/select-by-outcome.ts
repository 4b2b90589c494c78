/** Selects write-backs of a batch by what the review says that they would do. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ReviewOutcome } from '../core/outbox/review.ts'
import type { EpochMs } from '../core/time.ts'
import { requireBatch } from '../writeback/find-batch.ts'
import { withOutbox } from './outbox.ts'
import { reviewQueuedBatch } from './review.ts'

export type OutcomeSelection = {
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
