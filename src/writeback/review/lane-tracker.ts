/**
 * The lanes of the rows under review. A lane is kept from its first row to its last, so that a review of any size needs
 * memory only for the lanes whose rows lie far apart.
 */

import type { ReviewRow } from '../../core/outbox/review.ts'
import { applyAhead, emptyLane, type LaneState, type RowAhead } from '../../core/outbox/review-lane.ts'
import { operationTypes, toLaneName } from '../../core/outbox/writeback-request.ts'

type TrackedLane = { state: LaneState; readonly ahead: readonly RowAhead[]; appliedAhead: number }

export type LaneTracker = {
  /** Call it for all rows first. */
  readonly register: (row: ReviewRow) => void
  /** Those of these rows whose lanes have no row yet. */
  readonly newLanes: (rows: readonly ReviewRow[]) => readonly string[]
  readonly open: (lanes: readonly string[], ahead: readonly RowAhead[]) => void
  /** The state before the row. `seq`: its place in the queue; null if it is behind everything that is queued. */
  readonly before: (row: ReviewRow, seq: number | null) => LaneState
  readonly after: (row: ReviewRow, state: LaneState) => void
}

/** Lanes with the same hash share an entry, and are then kept longer than needed. */
const hashSlots = 1 << 20

export function createLaneTracker(): LaneTracker {
  const lastPositions = new Uint32Array(hashSlots)
  const lanes = new Map<string, TrackedLane>()
  return {
    register(row) {
      lastPositions[hashLane(laneOf(row))] = row.position
    },
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
      if ((lastPositions[hashLane(name)] ?? 0) <= row.position) lanes.delete(name)
    },
  }
}

function laneOf({ operation, target }: ReviewRow): string {
  return toLaneName(operationTypes[operation].target, target)
}

/** FNV-1a. */
function hashLane(lane: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < lane.length; index++) hash = Math.imul(hash ^ lane.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % hashSlots
}
