/** Reviews a file or a batch from the mirror, beside the results of checks with the service, and counts what it finds. */

import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { nameEntries } from '../core/outbox-entry.ts'
import {
  type CheckedOutcomes,
  type CheckedReview,
  type Deviation,
  findDeviation,
  type ReviewCheck,
  withCheck,
} from '../core/review-check.ts'
import { createReviewCounter, type ReviewSummary } from '../core/review-summary.ts'
import { parseRequest, type WritebackRequest } from '../core/writeback-request.ts'
import type { ImportLine } from '../import/csv-parser.ts'
import type { Outbox } from '../sql/outbox.ts'
import type { QueuedRow } from '../sql/review-rows.ts'
import { type CheckDeps, checkRows } from './check-rows.ts'
import {
  type LaneEnds,
  type ReviewSource,
  type RowToReview,
  readMirrorFacts,
  reviewRows,
  rowsPerChunk,
} from './review-rows.ts'

type ReviewParts = {
  readonly reader: Outbox
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
  { reader, now }: ReviewParts,
  readChecks: ReadChecks<Row>,
  onReviews: OnReviews | null,
): Promise<ReviewSummary> {
  const counter = createReviewCounter()
  const readFacts = readMirrorFacts(reader)
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

/** `readLines`: reads the file from its start. `expiresAt`: the default for lines without an expiry. */
export function importSource(
  readLines: () => AsyncIterable<ImportLine>,
  { expiresAt, laneEnds }: { readonly expiresAt: string | null; readonly laneEnds: LaneEnds | null },
): ReviewSource {
  async function* rows(): AsyncGenerator<RowToReview> {
    for await (const line of readLines()) {
      if (!line.result.ok) continue
      const request = withExpiry(line.result.request, expiresAt)
      const { operation, target } = request
      const common = { position: line.row, id: null, operation, target, queued: null }
      yield { seq: null, isDraft: false, row: { ...common, request: { ok: true, request } } }
    }
  }
  return { rows, laneEnds, batch: null }
}

function withExpiry(request: WritebackRequest, expiresAt: string | null): WritebackRequest {
  return request.expiresAt === null ? { ...request, expiresAt } : request
}

export type BatchRow = RowToReview & Pick<QueuedRow, 'epoch' | 'writeback'>

/** The drafts and the queued rows, numbered within the whole batch. */
export function batchSource(reader: Outbox, batch: string): ReviewSource<BatchRow> {
  async function* rows(): AsyncGenerator<BatchRow> {
    let position = 0
    for (let after = 0, isLast = false; !isLast; ) {
      const page = await reader.listBatch(batch, after, rowsPerChunk)
      for (const queued of page) {
        position += 1
        const { status } = queued.writeback
        if (status === 'draft' || status === 'queued') yield toBatchRow(queued, position)
      }
      isLast = page.length < rowsPerChunk
      after = page.at(-1)?.seq ?? after
    }
  }
  return { rows, laneEnds: null, batch }
}

function toBatchRow({ seq, epoch, writeback }: QueuedRow, position: number): BatchRow {
  const { id, operation, target, rawRequest, createdAt, targetSnapshot } = writeback
  const queued = { at: createdAt, seen: targetSnapshot }
  const isDraft = writeback.status === 'draft'
  return {
    seq,
    isDraft,
    epoch,
    writeback,
    row: { position, id, operation, target, request: parseRequest(rawRequest), queued },
  }
}

const rowsPerRead = 200
const maxSamples = 20

export async function compareWithChecks(
  admin: Pick<Outbox, 'list'>,
  reader: Pick<Outbox, 'listChecked' | 'readTargets'>,
  batch: string,
): Promise<CheckedOutcomes> {
  const first = new Map<string, Deviation>()
  let [rows, differing] = [0, 0]
  for (let after = 0; ; ) {
    const page = await reader.listChecked(batch, after, rowsPerRead)
    const last = page.at(-1)
    if (last === undefined) break
    for (const row of page) {
      const deviation = findDeviation(row)
      if (deviation === null) continue
      differing += 1
      if (first.size < maxSamples) first.set(row.id, deviation)
    }
    rows += page.length
    after = last.seq
  }
  const entries = first.size === 0 ? [] : await admin.list({ ids: [...first.keys()] }, maxSamples)
  const samples = (await nameEntries(reader, entries)).flatMap((writeback) => {
    const deviation = first.get(writeback.id)
    return deviation === undefined ? [] : [{ writeback, deviation }]
  })
  return { rows, differing, samples }
}
