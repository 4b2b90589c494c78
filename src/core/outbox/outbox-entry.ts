/** A write-back and its event log as stored, as people see them. */
import type { WritebackStatus } from './state.ts'
import type { Operation } from './writeback-request.ts'

/** A write-back as stored. Times are RFC 3339. */
export type OutboxEntry = {
  readonly id: string
  readonly seq: number
  readonly operation: Operation
  readonly conversationId: string | null
  readonly visitorId: string | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly status: WritebackStatus
  readonly attempts: number
  readonly batchId: string | null
  readonly ref: string | null
  readonly expect: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly createdBy: string | null
  readonly sentAt: string | null
  readonly finishedAt: string | null
  /** Who approved it; null if it needed no approval or waits for it. */
  readonly approvedBy: string | null
  /** Who made the last decision about it. */
  readonly decidedBy: string | null
  /** Who stopped its batch; null unless it waits for that reason. */
  readonly stoppedBy: string | null
  /** Until when its approval can be taken back; null if it cannot. */
  readonly undoUntil: string | null
  /** Increases with every claim, decision and correction by SQL. */
  readonly epoch: number
  readonly requestId: string | null
  readonly messageId: string | null
  readonly error: string | null
  /** Why it has this status. */
  readonly step: string | null
}

export type EventLogEntry = {
  readonly at: string
  readonly from: WritebackStatus | null
  readonly to: WritebackStatus
  readonly detail: string | null
  /** Who decided it; null if no person did. */
  readonly person: string | null
  readonly requestId: string | null
}
