/** Reviews the rows of a file or a batch in their order, a chunk at a time, with few statements and little memory. */
import { hash } from 'node:crypto'
import { inChunks } from '../../values/chunks.ts'
import type { EpochMs } from '../../values/time.ts'
import {
  applyAhead,
  emptyLane,
  type LaneState,
  type ReviewFacts,
  type ReviewRow,
  type RowAhead,
  reviewRow,
  type WritebackReview,
} from '../core/review.ts'
import type { ReviewCheck } from '../core/review-summary.ts'
import { operationTypes, toLaneName } from '../core/writeback-request.ts'
import type { Outbox } from '../sql/outbox.ts'
import type { QueuedRow } from '../sql/review-rows.ts'

/** `queued`: null for a row of a file, which is behind everything that is queued. */
export type RowToReview = { readonly row: ReviewRow; readonly queued: QueuedRow | null }
export type ReviewedRow = { readonly source: RowToReview; readonly review: WritebackReview }

export type ReviewSource = {
  /** In order; read twice, and the same rows each time. */
  readonly rows: () => AsyncIterable<RowToReview>
  /** The batch of the rows; null if they are not queued yet. */
  readonly batch: string | null
  /** By position, the results of checks with the service. */
  readonly readChecks: (rows: readonly RowToReview[]) => Promise<ReadonlyMap<number, ReviewCheck>>
  readonly storeChecks: (rows: readonly ReviewedRow[], checkedAt: string) => Promise<void>
}

type ReviewDeps = {
  readonly readAhead: Outbox['readAhead']
  /** One for each row. */
  readonly readFacts: (rows: readonly RowToReview[]) => Promise<readonly ReviewFacts[]>
  readonly now: EpochMs
}

export const rowsPerChunk = 500

/** A draft may be sent behind rows that follow it: what is queued finds the lane without the drafts before it. */
type LaneStates = { readonly all: LaneState; readonly withoutDrafts: LaneState }
/** `ahead`: what was queued before, in queue order, as far as it is not in the states yet. */
type Lane = { readonly states: LaneStates; readonly ahead: readonly RowAhead[] }

const firstLane: Lane = { states: { all: emptyLane, withoutDrafts: emptyLane }, ahead: [] }

/** Yields what each row would do. A lane is kept from its first row to its last: memory is for those whose rows lie apart. */
export async function* reviewRows(
  source: ReviewSource,
  { readAhead, readFacts, now }: ReviewDeps,
): AsyncGenerator<readonly ReviewedRow[]> {
  const lastPositions = await findLastPositions(source)
  const lanes = new Map<string, Lane>()
  for await (const chunk of inChunks(source.rows(), rowsPerChunk)) {
    const newLanes = [...new Set(chunk.map(({ row }) => laneOf(row)))].filter((lane) => !lanes.has(lane))
    const ahead = Map.groupBy(await readAhead(newLanes, source.batch), ({ lane }) => lane)
    for (const lane of newLanes) lanes.set(lane, { ...firstLane, ahead: ahead.get(lane) ?? [] })
    const facts = await readFacts(chunk)
    yield chunk.flatMap((rowToReview, index) => {
      const { row, queued } = rowToReview
      const [name, known] = [laneOf(row), facts[index]]
      if (known === undefined) return []
      const lane = applyRowsBefore(lanes.get(name) ?? firstLane, queued?.seq ?? null)
      const { review, states } = reviewInLane(rowToReview, known, lane.states, now)
      if ((lastPositions[slotOf(name)] ?? 0) <= row.position) lanes.delete(name)
      else lanes.set(name, { ...lane, states })
      return [{ source: rowToReview, review }]
    })
  }
}

/** `seq`: the place in the queue; null if it is behind everything that is queued. */
function applyRowsBefore({ states, ahead }: Lane, seq: number | null): Lane {
  const isBehind = (next: RowAhead) => seq !== null && next.seq > seq
  const applied = ahead.filter((next) => !isBehind(next)).reduce(applyToBoth, states)
  return { states: applied, ahead: ahead.filter(isBehind) }
}

function applyToBoth({ all, withoutDrafts }: LaneStates, ahead: RowAhead): LaneStates {
  const after = applyAhead(all, ahead)
  return { all: after, withoutDrafts: all === withoutDrafts ? after : applyAhead(withoutDrafts, ahead) }
}

function reviewInLane(
  { row, queued }: RowToReview,
  facts: ReviewFacts,
  { all, withoutDrafts }: LaneStates,
  now: EpochMs,
): { readonly review: WritebackReview; readonly states: LaneStates } {
  const isDraft = queued?.writeback.status === 'draft'
  const { review, lane } = reviewRow(row, facts, isDraft ? all : withoutDrafts, now)
  if (isDraft) {
    const unsentReply = `the reply before it (row ${row.position}) waits for approval`
    const behind = row.operation === 'message' ? { ...withoutDrafts, unsentReply } : withoutDrafts
    return { review, states: { all: lane, withoutDrafts: behind } }
  }
  const after = all === withoutDrafts ? lane : reviewRow(row, facts, all, now).lane
  return { review, states: { all: after, withoutDrafts: lane } }
}

function laneOf({ operation, target }: ReviewRow): string {
  return toLaneName(operationTypes[operation].target, target)
}

/** Lanes with the same hash share a slot, and are then kept longer than needed. */
const slots = 1 << 20

async function findLastPositions({ rows }: ReviewSource): Promise<Uint32Array> {
  const positions = new Uint32Array(slots)
  for await (const { row } of rows()) positions[slotOf(laneOf(row))] = row.position
  return positions
}

function slotOf(lane: string): number {
  return hash('md5', lane, 'buffer').readUInt32LE() % slots
}
