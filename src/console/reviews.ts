/**
 * Reviews of batches that have not left, which take longer than a page may: one for all who ask for
 * the same.
 */

import { rememberResults } from '../http/remember-results.ts'
import { describeChange, describeGroup, describeOrder } from '../outbox/core/review/labels.ts'
import type { Outbox, ReviewOutcome, StatusCounts, WritebackReview } from '../outbox/outbox.ts'
import { batchSource, reviewSource } from '../outbox/review-rows.ts'
import { formatCount } from '../values/format.ts'
import type { ProjectId } from '../values/project.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { createTurns } from '../values/turns.ts'
import type { ConsoleProject } from './project.ts'

export type Reviews = ReturnType<typeof createReviews>
/** What a row of a batch that has not left would do. */
export type ReviewedRow = ReturnType<typeof toReviewedRow>

/** Of each outcome: nobody looks through more, and they are kept in memory for a while. */
export const reviewedRows = 1000
const reviewHoldsMs: Ms = 20_000
/** Each has the ids of all rows. */
const maxReviews = 10
/** A small batch is reviewed by then. */
const reviewWaitsMs: Ms = 100

/**
 * Of its counts: with others it is another review. Rows leave all the time while it is sent, and a
 * review takes longer.
 */
export function reviewVersion({ queued, sending, succeeded, ...counts }: StatusCounts): string {
  return JSON.stringify(counts)
}

/** `open`: what is reviewed, and when. */
export function createReviews(
  open: (project: ProjectId) => Promise<{ readonly outbox: Outbox; readonly at: EpochMs }>,
  now: () => EpochMs,
) {
  const inTurn = createTurns()
  const read = ({ projectId, batch }: Readonly<{ projectId: ProjectId; batch: string }>) =>
    inTurn(async () => {
      const { outbox, at } = await open(projectId)
      return readReview(outbox, batch, at)
    })
  const reviews = rememberResults({ maxAgeMs: reviewHoldsMs, now, maxKeys: maxReviews, read })
  return {
    /** Null: it is still being read. `version`: see `reviewVersion`. */
    ofBatch: ({ projectId }: ConsoleProject, batch: string, version: string) =>
      reviews.soon(`${projectId} ${batch} ${version}`, { projectId, batch }, reviewWaitsMs),
    /** The ids of the rows of a batch that would do this, in the order of the queue. */
    idsByOutcome: async ({ projectId }: ConsoleProject, batch: string, outcome: ReviewOutcome) =>
      (await reviews.get(`${projectId} ${batch}`, { projectId, batch })).ids.get(outcome) ?? [],
  }
}

/**
 * `at`: when. `mirrorAsOf`: when the mirror was last read to its end; null = never. `rows`: of each
 * outcome, so many as people look through. `ids`: of all rows.
 */
async function readReview(outbox: Outbox, batch: string, at: EpochMs) {
  const ids = new Map<ReviewOutcome, string[]>()
  const rows: ReviewedRow[] = []
  const add = (row: WritebackReview) => {
    const known = ids.get(row.outcome) ?? []
    if (known.length < reviewedRows) rows.push(toReviewedRow(row))
    ids.set(row.outcome, known)
    known.push(row.id ?? '')
  }
  const onReviews = async (reviews: readonly WritebackReview[]) => reviews.forEach(add)
  const { counts, groups, mirrorAsOf } = await reviewSource(
    batchSource(outbox, batch),
    { reader: outbox, now: at },
    onReviews,
  )
  const named = groups.map((group) => ({
    outcome: group.outcome,
    text: describeGroup(group, formatCount),
  }))
  return { at, counts, groups: named, mirrorAsOf, rows, ids }
}

function toReviewedRow(row: WritebackReview) {
  const { position, place, id, action, outcome, visitorName, lastWords, marks } = row
  return {
    position,
    place,
    id: id ?? '',
    action,
    outcome,
    visitorName,
    lastWords: lastWords?.text ?? null,
    marks,
    effect: `${row.why ?? row.changes.map(describeChange).join(', ')}${describeOrder(row)}`,
  }
}
