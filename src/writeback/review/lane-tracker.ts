/**
 * The lanes of the rows under review. A lane is kept from its first row to its last, so that a review of any size needs
 * memory only for the lanes whose rows lie far apart.
 */
import type { ReviewRow } from '../../core/outbox/review.ts'
import { applyAhead, emptyLane, type LaneState, type RowAhead } from '../../core/outbox/review-lane.ts'
import { operationTypes, toLaneName } from '../../core/outbox/writeback-request.ts'

type TrackedLane = { state: LaneState; readonly ahead: readonly RowAhead[]; appliedAhead: number }

/** Where the last row of each lane is. */
export type LaneEnds = {
  readonly register: (row: LaneRow) => void
  readonly isLast: (row: LaneRow) => boolean
}

export type LaneRow = Pick<ReviewRow, 'operation' | 'target' | 'position'>

export type LaneTracker = {
  /** Those of these rows whose lanes have no row yet. */
  readonly newLanes: (rows: readonly ReviewRow[]) => readonly string[]
  readonly open: (lanes: readonly string[], ahead: readonly RowAhead[]) => void
  /** The state before the row. `seq`: its place in the queue; null if it is behind everything that is queued. */
  readonly before: (row: ReviewRow, seq: number | null) => LaneState
  readonly after: (row: ReviewRow, state: LaneState) => void
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
export function createLaneTracker(ends: LaneEnds): LaneTracker {
  const lanes = new Map<string, TrackedLane>()
  return {
    newLanes: (rows) => [...new Set(rows.map(laneOf))].filter((lane) => !lanes.has(lane)),
    open(names, ahead) {
      const byLane = Map.groupBy(ahead, ({ lane }) => lane)
      for (const lane of names) lanes.set(lane, { state: emptyLane, ahead: byLane.get(lane) ?? [], appliedAhead: 0 })
    },
    before(row, seq) {
      const lane = lanes.get(laneOf(row))
      if (lane === undefined) return emptyLane
      for (let next = lane.ahead[lane.appliedAhead]; next !== undefined; next = lane.ahead[lane.appliedAhead]) {
        if (seq !== null && next.seq > seq) break
        lane.state = applyAhead(lane.state, next)
        lane.appliedAhead += 1
      }
      return lane.state
    },
    after(row, state) {
      const name = laneOf(row)
      const lane = lanes.get(name)
      if (lane !== undefined) lane.state = state
      if (ends.isLast(row)) lanes.delete(name)
    },
  }
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
