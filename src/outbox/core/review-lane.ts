/** A lane as the rows before a reviewed one leave it. Pure. */
import type { WritebackStatus } from './state.ts'
import type { WritebackRequest } from './writeback-request.ts'

/** What the earlier rows of a lane change; a field that none of them sets is absent. */
export type LaneState = {
  readonly isHandled?: boolean
  readonly name?: string | null
  readonly email?: string | null
  /** Why the last reply that was queued together with this row is not sent; null if it is, or if there is none. */
  readonly unsentReply: string | null
  /** The position of the last row; null if this is the first. */
  readonly lastPosition: number | null
  /** The uncertain write-back that blocks the lane. */
  readonly blockedBy: string | null
}

/** A write-back that was queued before a reviewed row of its lane. */
export type RowAhead = {
  readonly lane: string
  /** Its place in the queue. */
  readonly seq: number
  readonly id: string
  readonly status: WritebackStatus
  /** Null if it is invalid. */
  readonly request: WritebackRequest | null
  /** It was queued together with the reviewed row. */
  readonly isSameBatch: boolean
}

export const emptyLane: LaneState = { unsentReply: null, lastPosition: null, blockedBy: null }

/** The lane after a request was carried out. */
export function applyRequest(lane: LaneState, { operation, payload }: WritebackRequest): LaneState {
  switch (operation) {
    case 'message':
      return { ...lane, isHandled: false, unsentReply: null }
    case 'handled':
      return { ...lane, isHandled: payload.handled }
    case 'visitor':
      return { ...lane, ...payload }
    case 'note':
      return lane
  }
}

/** The lane behind a write-back that was queued before and is not reviewed: what is queued is taken as sent. */
export function applyAhead(lane: LaneState, { id, status, request, isSameBatch }: RowAhead): LaneState {
  const isOpen = status === 'queued' || status === 'sending' || status === 'uncertain'
  const unsentReply =
    !isSameBatch || request?.operation !== 'message'
      ? lane.unsentReply
      : isOpen || status === 'succeeded'
        ? null
        : `the reply queued before it was not sent (${status})`
  const after = isOpen && request !== null ? applyRequest(lane, request) : lane
  return { ...after, unsentReply, blockedBy: status === 'uncertain' ? id : lane.blockedBy }
}
