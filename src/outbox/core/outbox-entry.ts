/** A write-back and its event log as stored, as people see them; and for pages with the visitor's name and words. */
import { excerpt } from '../../values/invisible.ts'
import { type ReviewRow, type TargetState, visitorNameOf } from './review.ts'
import type { WritebackStatus } from './state.ts'
import { type Operation, operationTypes } from './writeback-request.ts'

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

export type NamedEntry = OutboxEntry & {
  /** Null if the mirror does not know it. */
  readonly visitorName: string | null
  /** Of the visitor, in the conversation. */
  readonly lastWords: string | null
  /** Of the reply or the note. */
  readonly firstWords: string | null
}

function toNamedEntry(entry: OutboxEntry, target: TargetState | null): NamedEntry {
  const { content } = entry.payload
  const isConversation = target?.kind === 'conversation'
  const lastText = isConversation ? (target.lastVisitorMessage?.text ?? null) : null
  return {
    ...entry,
    visitorName: visitorNameOf(target),
    lastWords: lastText === null ? null : excerpt(lastText),
    firstWords: typeof content === 'string' ? excerpt(content) : null,
  }
}

type TargetReader = {
  readonly readTargets: (
    targets: readonly Pick<ReviewRow, 'operation' | 'target'>[],
  ) => Promise<readonly (TargetState | null)[]>
}

/** Adds names and words from the mirror. */
export async function nameEntries(
  { readTargets }: TargetReader,
  entries: readonly OutboxEntry[],
): Promise<readonly NamedEntry[]> {
  const targets = await readTargets(entries.map((entry) => ({ operation: entry.operation, target: targetIdOf(entry) })))
  return entries.map((entry, index) => toNamedEntry(entry, targets[index] ?? null))
}

/** The id of the conversation or the visitor. */
export function targetIdOf({ operation, conversationId, visitorId }: OutboxEntry): string {
  return (operationTypes[operation].target === 'conversation' ? conversationId : visitorId) ?? ''
}
