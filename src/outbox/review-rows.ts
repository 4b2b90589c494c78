/** Reviews a file or a batch from the mirror, in the order of its rows. */
import { hash } from 'node:crypto'
import { inChunks } from '../values/chunks.ts'
import type { EpochMs } from '../values/time.ts'
import { operationTypes, toLaneName } from './core/operations.ts'
import type { Writeback } from './core/outbox-entry.ts'
import type { ReviewFacts } from './core/review/guards.ts'
import { senderOf } from './core/review/marks.ts'
import { applyAhead, emptyLane, type LaneState, reviewRow } from './core/review/review.ts'
import { createReviewCounter } from './core/review/summary.ts'
import type { ReviewRow, ReviewSummary, WritebackReview } from './core/review/terms.ts'
import { approvable } from './decide.ts'
import type { Outbox } from './sql/outbox.ts'

export type ReviewSource = {
  /** In order; read twice, and the same rows each time. */
  readonly rows: () => AsyncIterable<ReviewRow>
  /** The batch of the rows; null if they are not queued yet. */
  readonly batch: string | null
}

const rowsPerChunk = 500

type Lane = {
  readonly all: LaneState
  /** So it is for what is queued: the drafts before it may be sent behind it. */
  readonly withoutDrafts: LaneState
  /** What was queued before, in queue order, as far as it is not in the states yet. */
  readonly ahead: readonly Writeback[]
}

const firstLane: Lane = { all: emptyLane, withoutDrafts: emptyLane, ahead: [] }

/** A lane is kept from its first row to its last: memory is for those whose rows lie apart. */
async function* reviewRows(
  source: ReviewSource,
  { reader, now }: { readonly reader: Outbox; readonly now: EpochMs },
): AsyncGenerator<readonly WritebackReview[]> {
  const { lastPlaces, rareSenders } = await scanRows(source)
  const knownSenders = await reader.findKnownSenders([...rareSenders])
  const isNewSender = (row: ReviewRow) => {
    const sender = senderOf(row.request.request)
    return sender !== null && rareSenders.has(sender) && !knownSenders.has(sender)
  }
  const { batch } = source
  const lanes = new Map<string, Lane>()
  for await (const chunk of inChunks(source.rows(), rowsPerChunk)) {
    const newLanes = [...new Set(chunk.map(laneOf))].filter((lane) => !lanes.has(lane))
    const ahead = Map.groupBy(await reader.readAhead(newLanes, batch), ({ lane }) => lane)
    for (const lane of newLanes) lanes.set(lane, { ...firstLane, ahead: ahead.get(lane) ?? [] })
    const facts = await reader.readFacts(chunk)
    yield chunk.flatMap((row, index) => {
      const name = laneOf(row)
      const known = facts[index]
      if (known === undefined) return []
      const before = applyRowsBefore(lanes.get(name) ?? firstLane, row, batch)
      const own = { ...known, isNewSender: isNewSender(row) }
      const { review, lane } = reviewInLane(row, own, before, now)
      if ((lastPlaces[slotOf(name)] ?? 0) <= row.place) lanes.delete(name)
      else lanes.set(name, lane)
      return [review]
    })
  }
}

function applyRowsBefore(lane: Lane, { queued }: ReviewRow, batch: string | null): Lane {
  const { ahead } = lane
  const behind = queued === null ? -1 : ahead.findIndex(({ seq }) => seq > queued.seq)
  const before = behind < 0 ? ahead.length : behind
  const applyToBoth = ({ all, withoutDrafts, ...own }: Lane, row: Writeback): Lane => {
    const after = applyAhead(all, row, batch)
    const isOne = all === withoutDrafts
    return {
      ...own,
      all: after,
      withoutDrafts: isOne ? after : applyAhead(withoutDrafts, row, batch),
    }
  }
  return ahead.slice(0, before).reduce(applyToBoth, { ...lane, ahead: ahead.slice(before) })
}

function reviewInLane(
  row: ReviewRow,
  facts: ReviewFacts,
  before: Lane,
  now: EpochMs,
): { readonly review: WritebackReview; readonly lane: Lane } {
  const { all, withoutDrafts } = before
  const isDraft = row.queued?.status === 'draft'
  const { review, lane } = reviewRow(row, facts, isDraft ? all : withoutDrafts, now)
  if (isDraft) {
    const unsentReply = `the reply before it (row ${row.position}) waits for approval`
    const behind = row.operation === 'message' ? { ...withoutDrafts, unsentReply } : withoutDrafts
    return { review, lane: { ...before, all: lane, withoutDrafts: behind } }
  }
  const after = all === withoutDrafts ? lane : reviewRow(row, facts, all, now).lane
  return { review, lane: { ...before, all: after, withoutDrafts: lane } }
}

function laneOf({ operation, target }: ReviewRow): string {
  return toLaneName(operationTypes[operation].target, target)
}

/** Lanes with the same hash share a slot, and are then kept longer than needed. */
const slots = 1 << 20

/** A file with more of them has a column of something else, and none of them is looked up. */
const maxSenders = 10_000

/** `lastPlaces`: of each lane. `rareSenders`: those of a single row. */
async function scanRows({ rows }: ReviewSource) {
  const lastPlaces = new Uint32Array(slots)
  const senders = new Map<string, 'once' | 'again'>()
  for await (const row of rows()) {
    lastPlaces[slotOf(laneOf(row))] = row.place
    const sender = senderOf(row.request.request)
    if (sender === null || (senders.size >= maxSenders && !senders.has(sender))) continue
    senders.set(sender, senders.has(sender) ? 'again' : 'once')
  }
  const once = [...senders].flatMap(([sender, seen]) => (seen === 'once' ? [sender] : []))
  return { lastPlaces, rareSenders: new Set(once) }
}

function slotOf(lane: string): number {
  return hash('md5', lane, 'buffer').readUInt32LE() % slots
}

/** Called with all reviews, in the order of the rows, some at a time. */
export type OnReviews = (reviews: readonly WritebackReview[]) => Promise<void>

/** The rows of a batch that have not left. `drafts`: names those that were reviewed. */
export async function reviewBatch(
  reader: Outbox,
  batch: string,
  now: EpochMs,
  onReviews: OnReviews | null,
) {
  const review = await reviewSource(batchSource(reader, batch), { reader, now }, onReviews)
  return { review, drafts: await reader.digestOf({ batch, statuses: approvable }) }
}

/** Reads the mirror and the queue. Makes no request. */
export async function reviewSource(
  source: ReviewSource,
  deps: { readonly reader: Outbox; readonly now: EpochMs },
  onReviews: OnReviews | null,
): Promise<ReviewSummary> {
  const counter = createReviewCounter()
  for await (const reviews of reviewRows(source, deps)) {
    for (const review of reviews) counter.add(review)
    await onReviews?.(reviews)
  }
  return counter.summary()
}

/** The drafts and the queued rows, numbered as in their file, or else within the whole batch. */
export function batchSource(reader: Outbox, batch: string): ReviewSource {
  return {
    batch,
    async *rows() {
      let place = 0
      for (let after = 0, isLast = false; !isLast; ) {
        const page = await reader.listBatch(batch, after, rowsPerChunk)
        for (const queued of page) {
          place += 1
          const { status, sourceRow, operation, target, request } = queued
          const position = sourceRow ?? place
          if (status === 'draft' || status === 'queued')
            yield { position, place, operation, target, request, queued }
        }
        isLast = page.length < rowsPerChunk
        after = page.at(-1)?.seq ?? after
      }
    },
  }
}
