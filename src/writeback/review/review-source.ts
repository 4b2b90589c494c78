/** Reviews a file or a batch from the mirror, beside the results of checks with the service, and counts what it finds. */
import { type CheckedReview, type ReviewCheck, withCheck } from '../../core/outbox/review-check.ts'
import type { ReviewReader } from '../../core/outbox/review-reader.ts'
import { createReviewCounter, type ReviewSummary } from '../../core/outbox/review-summary.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import { type CheckDeps, checkRows } from './check-rows.ts'
import { type ReviewSource, type RowToReview, readMirrorFacts, reviewRows } from './review-rows.ts'
import type { BatchRow } from './review-sources.ts'

export type ReviewParts = {
  readonly reader: ReviewReader
  /** The refs that were queued before. */
  readonly findDuplicateRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>
  readonly now: EpochMs
}

/** Called with all reviews, in the order of the rows, some at a time. */
export type OnReviews = (reviews: readonly CheckedReview[]) => Promise<void>

/** By position, the results of checks. */
type ReadChecks<Row> = (rows: readonly Row[]) => Promise<ReadonlyMap<number, ReviewCheck>>

/** Needs no request. `checks`: of rows that are not queued, by position. */
export function reviewImport(
  source: ReviewSource,
  parts: ReviewParts,
  checks: ReadonlyMap<number, ReviewCheck>,
  onReviews: OnReviews | null,
): Promise<ReviewSummary> {
  return reviewSource(source, parts, async () => checks, onReviews)
}

/** Needs no request, and shows the results of earlier checks. */
export function reviewBatch(
  source: ReviewSource<BatchRow>,
  parts: ReviewParts,
  onReviews: OnReviews | null,
): Promise<ReviewSummary> {
  const readChecks: ReadChecks<BatchRow> = async (rows) => {
    const positions = new Map(rows.map(({ row }) => [row.id, row.position]))
    const stored = await parts.reader.readChecks(rows.map(({ writeback }) => writeback.id))
    return new Map(stored.flatMap((check) => (check.isVoid ? [] : [[positions.get(check.id) ?? 0, check]])))
  }
  return reviewSource(source, parts, readChecks, onReviews)
}

async function reviewSource<Row extends RowToReview>(
  source: ReviewSource<Row>,
  { reader, findDuplicateRefs, now }: ReviewParts,
  readChecks: ReadChecks<Row>,
  onReviews: OnReviews | null,
): Promise<ReviewSummary> {
  const counter = createReviewCounter()
  const readFacts = readMirrorFacts(reader, findDuplicateRefs)
  for await (const chunk of reviewRows(source, { readAhead: reader.readAhead, readFacts, now })) {
    const checks = await readChecks(chunk.map(({ source: row }) => row))
    const reviews = chunk.map(({ review }) => withCheck(review, checks.get(review.position) ?? null))
    for (const review of reviews) counter.add(review)
    await onReviews?.(reviews)
  }
  return counter.summary()
}

/** Asks the service about the first `limit` rows. Throws ApiError if it does not answer or denies the key. */
export async function checkImport(
  source: ReviewSource,
  deps: CheckDeps,
  limit: number,
): Promise<ReadonlyMap<number, ReviewCheck>> {
  const checks = new Map<number, ReviewCheck>()
  for await (const chunk of checkRows(source, deps, limit)) {
    const checkedAt = toTimestamp(deps.now())
    for (const { review } of chunk) checks.set(review.position, { ...review, checkedAt })
  }
  return checks
}

/** The same for a batch. Its results are stored, and hold until a row changes. */
export async function checkBatch(source: ReviewSource<BatchRow>, deps: CheckDeps, limit: number): Promise<void> {
  for await (const chunk of checkRows(source, deps, limit)) {
    const checkedAt = toTimestamp(deps.now())
    await deps.reader.storeChecks(
      chunk.map(({ source: { epoch, writeback }, review }) => ({ ...review, id: writeback.id, epoch, checkedAt })),
    )
  }
}
