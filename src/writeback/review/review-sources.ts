/** What can be reviewed: the valid lines of a file before it is queued, and the rows of a batch that have not left. */
import type { QueuedRow, ReviewReader } from '../../core/outbox/review-reader.ts'
import { parseRequest, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { ImportLine } from '../import/import-line.ts'
import type { LaneEnds } from './lane-tracker.ts'
import { type ReviewSource, type RowToReview, rowsPerChunk } from './review-rows.ts'

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
      yield { seq: null, row: { ...common, request: { ok: true, request } } }
    }
  }
  return { rows, laneEnds, batch: null }
}

function withExpiry(request: WritebackRequest, expiresAt: string | null): WritebackRequest {
  return request.expiresAt === null ? { ...request, expiresAt } : request
}

export type BatchRow = RowToReview & Pick<QueuedRow, 'epoch' | 'writeback'>

/** The drafts and the queued rows, numbered within the whole batch. */
export function batchSource(reader: ReviewReader, batch: string): ReviewSource<BatchRow> {
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
  return { seq, epoch, writeback, row: { position, id, operation, target, request: parseRequest(rawRequest), queued } }
}
