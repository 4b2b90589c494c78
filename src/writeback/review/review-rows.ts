/** Reviews the rows of a file or a batch in their order, a chunk at a time, with few statements and little memory. */
import { type ReviewFacts, type ReviewRow, reviewRow, type WritebackReview } from '../../core/outbox/review.ts'
import { findObstacleInMirror } from '../../core/outbox/review-guards.ts'
import type { ReviewReader } from '../../core/outbox/review-reader.ts'
import type { EpochMs } from '../../core/time.ts'
import { createLaneEnds, createLaneTracker, type LaneEnds, type LaneStates } from './lane-tracker.ts'

/** A row with what is needed to find what is ahead of it and to check it. */
export type RowToReview = {
  readonly row: ReviewRow
  /** Its place in the queue; null if it is not queued yet. */
  readonly seq: number | null
  /** It waits for an approval, which rows behind it may have already. */
  readonly isDraft: boolean
}

export type ReviewSource<Row extends RowToReview = RowToReview> = {
  /** In order; read twice, and the same rows each time. */
  readonly rows: () => AsyncIterable<Row>
  /** Where its lanes end, if that is known: then its rows are read only once. */
  readonly laneEnds: LaneEnds | null
  /** The batch of the rows; null if they are not queued yet. */
  readonly batch: string | null
}

export type ReviewDeps<Row extends RowToReview> = {
  readonly readAhead: ReviewReader['readAhead']
  /** One for each row. */
  readonly readFacts: (rows: readonly Row[]) => Promise<readonly ReviewFacts[]>
  readonly now: EpochMs
}

export const rowsPerChunk = 500

/** Yields what each row would do, with the row itself. */
export async function* reviewRows<Row extends RowToReview>(
  source: ReviewSource<Row>,
  { readAhead, readFacts, now }: ReviewDeps<Row>,
): AsyncGenerator<readonly { readonly source: Row; readonly review: WritebackReview }[]> {
  const lanes = createLaneTracker(source.laneEnds ?? (await findLaneEnds(source)))
  for await (const chunk of inChunks(source.rows(), rowsPerChunk)) {
    const newLanes = lanes.newLanes(chunk.map(({ row }) => row))
    lanes.open(newLanes, await readAhead(newLanes, source.batch))
    const facts = await readFacts(chunk)
    yield chunk.flatMap((rowToReview, index) => {
      const { row, seq } = rowToReview
      const known = facts[index]
      if (known === undefined) return []
      const { review, states } = reviewInLane(rowToReview, known, lanes.before(row, seq), now)
      lanes.after(row, states)
      return [{ source: rowToReview, review }]
    })
  }
}

function reviewInLane(
  { row, isDraft }: RowToReview,
  facts: ReviewFacts,
  { all, withoutDrafts }: LaneStates,
  now: EpochMs,
): { readonly review: WritebackReview; readonly states: LaneStates } {
  const { review, lane } = reviewRow(row, facts, isDraft ? all : withoutDrafts, now)
  if (isDraft) {
    const unsentReply = `the reply before it (row ${row.position}) waits for approval`
    const behind = row.operation === 'message' ? { ...withoutDrafts, unsentReply } : withoutDrafts
    return { review, states: { all: lane, withoutDrafts: behind } }
  }
  const after = all === withoutDrafts ? lane : reviewRow(row, facts, all, now).lane
  return { review, states: { all: after, withoutDrafts: lane } }
}

async function findLaneEnds({ rows }: ReviewSource): Promise<LaneEnds> {
  const ends = createLaneEnds()
  for await (const { row } of rows()) ends.register(row)
  return ends
}

/** Facts from the mirror, without a request. `findDuplicateRefs`: for rows that are not queued yet. */
export function readMirrorFacts(
  reader: ReviewReader,
  findDuplicateRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>,
) {
  return async (sources: readonly RowToReview[]): Promise<readonly ReviewFacts[]> => {
    const rows = sources.map(({ row }) => row)
    const known = await findDuplicateRefs(rows.flatMap((row) => refOf(row) ?? []))
    const facts = await reader.readFacts(rows)
    return rows.map((row, index) => {
      const own = facts[index] ?? {
        target: null,
        conversation: null,
        expectedMessage: null,
        newerMessages: [],
        requeuedAt: null,
        ownEdit: {},
        lastOwnEdit: {},
      }
      const ref = refOf(row)
      const isRefQueued = ref !== null && known.has(ref)
      return { target: own.target, obstacle: findObstacleInMirror(row, own), isRefQueued }
    })
  }
}

/** Null for a row that is queued, as its ref is its own. */
function refOf({ id, request }: ReviewRow): string | null {
  return id === null && request.ok ? request.request.ref : null
}

export async function* inChunks<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let chunk: T[] = []
  for await (const item of items) {
    chunk.push(item)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}
