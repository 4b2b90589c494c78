/**
 * Decides whether a reply arrived by comparing the message ids before the send with those now. Does not use times, as the
 * service's clocks may be wrong and it may show a reply with another text, name, sender or time. Pure.
 */
import { createHash } from 'node:crypto'
import type { Writeback } from '../../core/outbox/repository.ts'
import { matchesPayload } from '../../core/outbox/same-words.ts'
import type { WritebackPayload } from '../../core/outbox/writeback-request.ts'
import type { Verification } from '../operations/operation-handler.ts'
import type { SnapshotMessage } from './conversation-snapshot.ts'

type ReplyContext = {
  /** All message ids before the send; null if not all could be read. */
  readonly before: ReadonlySet<string> | null
  /** Whether the text of one of them has changed, as a service may append a reply to an existing message. */
  readonly isChanged: boolean
  /** Ids that are matched to other write-backs. */
  readonly matchedIds: ReadonlySet<string>
  readonly payload: WritebackPayload['message']
  /** Whether all current messages could be read. */
  readonly isComplete: boolean
}

/** `absent`, which allows a resend, only if the conversation shows exactly the same messages as before. */
export function matchReply(
  messages: readonly SnapshotMessage[],
  { before, isChanged, matchedIds, payload, isComplete }: ReplyContext,
): Verification {
  const unverifiable = (why: string): Verification => ({ kind: 'unverifiable', why })
  if (before === null) {
    const similar = messages.find((message) => !matchedIds.has(message.id) && matchesPayload(message, payload))
    const similarText = similar === undefined ? '' : `; message ${similar.id} is similar`
    return unverifiable(`not all messages could be read before it was sent${similarText}`)
  }
  const added = newMessages(messages, before, matchedIds)
  const same = added.find((message) => matchesPayload(message, payload))
  if (same !== undefined)
    return { kind: 'found', how: `it is in the conversation (message ${same.id})`, messageId: same.id }
  const [other] = added
  if (other !== undefined)
    return unverifiable(`message ${other.id} is new in the conversation and may be this reply in another form`)
  if (isChanged) return unverifiable('the text of an earlier message has changed, so the reply may be part of it')
  if (!isComplete) return unverifiable('the service does not show all messages of the conversation')
  const currentIds = new Set(messages.map(({ id }) => id))
  const missingId = [...before].find((id) => !currentIds.has(id))
  if (missingId === undefined) return { kind: 'absent' }
  return unverifiable(`the conversation no longer shows message ${missingId}, so other messages may be hidden too`)
}

/** Messages that were not there before and are not matched to another write-back. */
export function newMessages(
  messages: readonly SnapshotMessage[],
  before: ReadonlySet<string>,
  matchedIds: ReadonlySet<string>,
): readonly SnapshotMessage[] {
  return messages.filter(({ id }) => !before.has(id) && !matchedIds.has(id))
}

/** Null if they were not all stored; earlier versions stored only those of the last minutes. */
export function messageIdsBefore({ evidence: { before } }: Writeback): ReadonlySet<string> | null {
  return before?.ids === undefined || before.since !== undefined ? null : new Set(before.ids)
}

/** A digest of the messages' texts, independent of their order. */
export function digestMessages(messages: readonly SnapshotMessage[]): string {
  const lines = messages.map(({ id, content }) => JSON.stringify([id, content])).sort()
  return createHash('sha256').update(lines.join('\n')).digest('base64url')
}

/** Whether the texts of the earlier messages changed; false if one is missing or no digest was stored. */
export function hasContentChanged(
  messages: readonly SnapshotMessage[],
  before: ReadonlySet<string>,
  digest: string | undefined,
): boolean {
  const remaining = messages.filter(({ id }) => before.has(id))
  return digest !== undefined && remaining.length === before.size && digestMessages(remaining) !== digest
}
