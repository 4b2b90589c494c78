/** What an import asks the warehouse about its rows before it queues them. */
import type { WritebackRequest } from './writeback-request.ts'

/** A write-back that has the ref of a row, so the row is not queued. */
export type QueuedRef = Pick<WritebackRequest, 'operation' | 'target'> & {
  readonly payload: Readonly<Record<string, unknown>>
  readonly batch: string | null
}

/** A reply in a conversation: one of ours, or a message of the team in the mirror. */
export type EarlierReply = {
  readonly conversation: string
  readonly content: string
  /** RFC 3339; null if it is still to be sent. */
  readonly sentAt: string | null
}

export type ImportLookups = {
  /** By ref, what is queued or was sent with it. A ref whose write-back failed or conflicted is free again. */
  readonly findQueuedRefs: (refs: readonly string[]) => Promise<ReadonlyMap<string, QueuedRef>>
  /** Replies to these conversations that were sent since this time, may have been, or are still to be sent. */
  readonly listReplies: (conversations: readonly string[], since: string) => Promise<readonly EarlierReply[]>
}
