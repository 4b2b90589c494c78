/** Reviews a file or a batch from the mirror, beside the results of checks with the service, and counts what it finds. */
import type { EpochMs } from '../../values/time.ts'
import { findObstacleInMirror } from '../core/review-guards.ts'
import {
  type CheckedOutcomes,
  type CheckedReview,
  createReviewCounter,
  type Deviation,
  findDeviation,
  type ReviewCheck,
  type ReviewSummary,
  withCheck,
} from '../core/review-summary.ts'
import { parseRequest } from '../core/writeback-request.ts'
import type { ImportLine } from '../import/parse-lines.ts'
import type { Outbox } from '../sql/outbox.ts'
import type { QueuedRow } from '../sql/review-rows.ts'
import { type ReviewSource, type RowToReview, reviewRows, rowsPerChunk } from './review-rows.ts'

/** Called with all reviews, in the order of the rows, some at a time. */
export type OnReviews = (reviews: readonly CheckedReview[]) => Promise<void>

/** Needs no request, and shows the results of earlier checks. */
export async function reviewSource(
  source: ReviewSource,
  { reader, now }: { readonly reader: Outbox; readonly now: EpochMs },
  onReviews: OnReviews | null,
): Promise<ReviewSummary> {
  const counter = createReviewCounter()
  const readFacts = async (rows: readonly RowToReview[]) => {
    const facts = await reader.readFacts(rows.map(({ row }) => row))
    return rows.flatMap(({ row }, index) => {
      const own = facts[index]
      return own === undefined ? [] : [{ ...own, obstacle: findObstacleInMirror(row, own) }]
    })
  }
  for await (const chunk of reviewRows(source, { readAhead: reader.readAhead, readFacts, now })) {
    const checks = await source.readChecks(chunk.map(({ source: row }) => row))
    const reviews = chunk.map(({ review }) => withCheck(review, checks.get(review.position) ?? null))
    for (const review of reviews) counter.add(review)
    await onReviews?.(reviews)
  }
  return counter.summary()
}

/** `readLines`: reads the file from its start. `expiresAt`: the default for lines without an expiry. Keeps checks in memory. */
export function importSource(readLines: () => AsyncIterable<ImportLine>, expiresAt: string | null): ReviewSource {
  const checks = new Map<number, ReviewCheck>()
  return {
    batch: null,
    async *rows() {
      for await (const { row: position, result } of readLines()) {
        if (!result.ok) continue
        const request = { ...result.request, expiresAt: result.request.expiresAt ?? expiresAt }
        const { operation, target } = request
        const row = { position, id: null, operation, target, queued: null, request: { ok: true, request } } as const
        yield { row, queued: null }
      }
    },
    readChecks: async () => checks,
    storeChecks: async (rows, checkedAt) => {
      for (const { review } of rows) checks.set(review.position, { ...review, checkedAt })
    },
  }
}

/** The drafts and the queued rows, numbered within the whole batch. Checks are stored, and hold until a row changes. */
export function batchSource(reader: Outbox, batch: string): ReviewSource {
  return {
    batch,
    async *rows() {
      let position = 0
      for (let after = 0, isLast = false; !isLast; ) {
        const page = await reader.listBatch(batch, after, rowsPerChunk)
        for (const queued of page) {
          position += 1
          const { status } = queued.writeback
          if (status === 'draft' || status === 'queued') yield toRow(queued, position)
        }
        isLast = page.length < rowsPerChunk
        after = page.at(-1)?.seq ?? after
      }
    },
    readChecks: async (rows) => {
      const positions = new Map(rows.map(({ row }) => [row.id, row.position]))
      const stored = await reader.readChecks([...positions.keys()].filter((id) => id !== null))
      return new Map(stored.flatMap((check) => (check.isVoid ? [] : [[positions.get(check.id) ?? 0, check]])))
    },
    storeChecks: (rows, checkedAt) =>
      reader.storeChecks(
        rows.flatMap(({ source: { queued }, review }) =>
          queued === null ? [] : [{ ...review, id: queued.writeback.id, epoch: queued.epoch, checkedAt }],
        ),
      ),
  }
}

function toRow(queued: QueuedRow, position: number): RowToReview {
  const { id, operation, target, rawRequest, createdAt, targetSnapshot } = queued.writeback
  const seen = { at: createdAt, seen: targetSnapshot }
  return { queued, row: { position, id, operation, target, request: parseRequest(rawRequest), queued: seen } }
}

const rowsPerRead = 200
const maxSamples = 20

export async function compareWithChecks(
  reader: Pick<Outbox, 'list' | 'listChecked' | 'nameEntries'>,
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
  const entries = first.size === 0 ? [] : await reader.list({ ids: [...first.keys()] }, maxSamples)
  const samples = (await reader.nameEntries(entries)).flatMap((writeback) => {
    const deviation = first.get(writeback.id)
    return deviation === undefined ? [] : [{ writeback, deviation }]
  })
  return { rows, differing, samples }
}
