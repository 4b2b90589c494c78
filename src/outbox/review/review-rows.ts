/** Reviews the rows of a file or a batch in their order, a chunk at a time, with few statements and little memory. */

import { inChunks } from '../../values/chunks.ts'
import type { EpochMs } from '../../values/time.ts'
import { type ReviewFacts, type ReviewRow, reviewRow, type WritebackReview } from '../core/review.ts'
import { findObstacleInMirror } from '../core/review-guards.ts'
import { applyAhead, emptyLane, type LaneState, type RowAhead } from '../core/review-lane.ts'
import { operationTypes, toLaneName } from '../core/writeback-request.ts'
import type { Outbox } from '../sql/outbox.ts'

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

type ReviewDeps<Row extends RowToReview> = {
  readonly readAhead: Outbox['readAhead']
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

/** Facts from the mirror, without a request. */
export function readMirrorFacts(reader: Outbox) {
  return async (sources: readonly RowToReview[]): Promise<readonly ReviewFacts[]> => {
    const facts = await reader.readFacts(sources.map(({ row }) => row))
    return sources.flatMap(({ row }, index) => {
      const own = facts[index]
      return own === undefined ? [] : [{ ...own, obstacle: findObstacleInMirror(row, own) }]
    })
  }
}

/** A lane is kept from its first row to its last, so memory is needed only for lanes whose rows lie far apart. */
/** A draft may be sent behind rows that follow it: what is queued finds the lane without the drafts before it. */
type LaneStates = { readonly all: LaneState; readonly withoutDrafts: LaneState }

type TrackedLane = { states: LaneStates; readonly ahead: readonly RowAhead[]; appliedAhead: number }

/** Where the last row of each lane is. */
export type LaneEnds = {
  readonly register: (row: LaneRow) => void
  readonly isLast: (row: LaneRow) => boolean
}

type LaneRow = Pick<ReviewRow, 'operation' | 'target' | 'position'>

type LaneTracker = {
  /** Those of these rows whose lanes have no row yet. */
  readonly newLanes: (rows: readonly ReviewRow[]) => readonly string[]
  readonly open: (lanes: readonly string[], ahead: readonly RowAhead[]) => void
  /** The state before the row. `seq`: its place in the queue; null if it is behind everything that is queued. */
  readonly before: (row: ReviewRow, seq: number | null) => LaneStates
  readonly after: (row: ReviewRow, states: LaneStates) => void
}

/** Lanes with the same hash share an entry, and are then kept longer than needed. */
const hashSlots = 1 << 20

export function createLaneEnds(): LaneEnds {
  const lastPositions = new Uint32Array(hashSlots)
  return {
    register(row) {
      lastPositions[hashLane(laneOf(row))] = row.position
    },
    isLast: (row) => (lastPositions[hashLane(laneOf(row))] ?? 0) <= row.position,
  }
}

/** `ends`: all rows are registered there. */
function createLaneTracker(ends: LaneEnds): LaneTracker {
  const lanes = new Map<string, TrackedLane>()
  return {
    newLanes: (rows) => [...new Set(rows.map(laneOf))].filter((lane) => !lanes.has(lane)),
    open(names, ahead) {
      const byLane = Map.groupBy(ahead, ({ lane }) => lane)
      for (const lane of names) lanes.set(lane, { states: emptyStates, ahead: byLane.get(lane) ?? [], appliedAhead: 0 })
    },
    before(row, seq) {
      const lane = lanes.get(laneOf(row))
      if (lane === undefined) return emptyStates
      for (let next = lane.ahead[lane.appliedAhead]; next !== undefined; next = lane.ahead[lane.appliedAhead]) {
        if (seq !== null && next.seq > seq) break
        lane.states = applyToBoth(lane.states, next)
        lane.appliedAhead += 1
      }
      return lane.states
    },
    after(row, states) {
      const name = laneOf(row)
      const lane = lanes.get(name)
      if (lane !== undefined) lane.states = states
      if (ends.isLast(row)) lanes.delete(name)
    },
  }
}

const emptyStates: LaneStates = { all: emptyLane, withoutDrafts: emptyLane }

function applyToBoth({ all, withoutDrafts }: LaneStates, ahead: RowAhead): LaneStates {
  const after = applyAhead(all, ahead)
  return { all: after, withoutDrafts: all === withoutDrafts ? after : applyAhead(withoutDrafts, ahead) }
}

function laneOf({ operation, target }: LaneRow): string {
  return toLaneName(operationTypes[operation].target, target)
}

/** FNV-1a. */
function hashLane(lane: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < lane.length; index++) hash = Math.imul(hash ^ lane.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % hashSlots
}
