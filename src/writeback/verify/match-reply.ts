/**
 * What became of a reply, by the ids of the messages that a conversation shows now and showed before it left. Never by
 * times: clocks of a service may be wrong, and a reply may show with any text, name, sender and time. Pure.
 */
import { createHash } from 'node:crypto'
import type { Writeback } from '../../core/outbox/repository.ts'
import type { WritebackPayload } from '../../core/outbox/writeback-request.ts'
import type { SnapshotMessage } from './conversation-snapshot.ts'
import type { Verification } from '../operations/operation-handler.ts'

export type ReplyContext = {
  /** All ids that it showed before the reply left; null = they could not all be read. */
  readonly before: ReadonlySet<string> | null
  /** Whether one of them shows other words than before: a service may add a reply to a message that is there. */
  readonly isChanged: boolean
  /** Ids that are the proof of other write-backs. */
  readonly otherIds: ReadonlySet<string>
  readonly payload: WritebackPayload['message']
  /** Whether all messages show now. */
  readonly isComplete: boolean
}

/** It goes again only if the conversation shows exactly the messages that it showed before. */
export function matchReply(messages: readonly SnapshotMessage[], { before, isChanged, otherIds, payload, isComplete }: ReplyContext): Verification {
  if (before === null) {
    const similar = messages.find((said) => !otherIds.has(said.id) && matchesPayload(said, payload))
    const similarText = similar === undefined ? '' : `; message ${similar.id} is like it`
    return { kind: 'unknowable', why: `not all messages that were there before it left could be read${similarText}` }
  }
  const added = newMessages(messages, before, otherIds)
  const same = added.find((said) => matchesPayload(said, payload))
  if (same !== undefined)
    return { kind: 'found', how: `it is in the conversation (message ${same.id})`, messageId: same.id }
  const [other] = added
  if (other !== undefined)
    return {
      kind: 'unknowable',
      why: `message ${other.id} is new in the conversation, and may be this one as the service shows it`,
    }
  if (isChanged)
    return { kind: 'unknowable', why: 'a message that was there before shows other words: the reply may be part of it' }
  if (!isComplete) return { kind: 'unknowable', why: 'the service does not show all messages of the conversation' }
  const currentIds = new Set(messages.map(({ id }) => id))
  const missingId = [...before].find((id) => !currentIds.has(id))
  if (missingId === undefined) return { kind: 'absent' }
  return {
    kind: 'unknowable',
    why: `the conversation does not show message ${missingId}, which was there before: others may be hidden too`,
  }
}

/** What is there and was not before, and is not known to be another write-back's. */
export function newMessages(
  messages: readonly SnapshotMessage[],
  before: ReadonlySet<string>,
  otherIds: ReadonlySet<string>,
): readonly SnapshotMessage[] {
  return messages.filter(({ id }) => !before.has(id) && !otherIds.has(id))
}

/** Null: not all of them were noted. Earlier versions noted those of the last minutes only. */
export function messageIdsBefore({ evidence: { before } }: Writeback): ReadonlySet<string> | null {
  return before?.ids === undefined || before.since !== undefined ? null : new Set(before.ids)
}

/** Of the words of some messages, whatever order they came in. */
export function digestMessages(messages: readonly SnapshotMessage[]): string {
  const words = messages.map(({ id, content }) => JSON.stringify([id, content])).sort()
  return createHash('sha256').update(words.join('\n')).digest('base64url')
}

/** Whether those of `before` that show now say something else; not told where one is missing, or no digest was noted. */
export function hasContentChanged(messages: readonly SnapshotMessage[], before: ReadonlySet<string>, digest: string | undefined): boolean {
  const remaining = messages.filter(({ id }) => before.has(id))
  return digest !== undefined && remaining.length === before.size && digestMessages(remaining) !== digest
}

export function matchesPayload({ content, senderName }: SnapshotMessage, payload: WritebackPayload['message']): boolean {
  return normalizeText(content) === normalizeText(payload.content) && normalizeText(senderName) === normalizeText(payload.sender_name)
}

/** A service may trim a text, and write its line ends and accents in another way. */
function normalizeText(text: string | null): string {
  return (text ?? '').normalize('NFC').replace(/\s+/g, ' ').trim()
}
