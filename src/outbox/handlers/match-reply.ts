/**
 * Whether messages show a sent reply: by ids before the send, words, and the conversation. Pure.
 */
import { createHash } from 'node:crypto'
import { toMessageSide } from '../../mirror/core/message-fields.ts'
import { type EpochSeconds, rfc3339 } from '../../values/time.ts'
import type { WritebackPayload } from '../core/operations.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import { matchesPayload } from '../core/review/guards.ts'
import type { SnapshotMessage } from './conversation-snapshot.ts'
import { absent, type readTrace, type Verification } from './operation-handler.ts'

/** A person looks at each. */
export const maxCandidates = 20

/** `absent`, which allows a resend, only if the list is as before and has the last message. */
export function matchReply(
  messages: readonly SnapshotMessage[],
  {
    before,
    isChanged,
    matchedIds,
    payload,
    duplicates,
    isComplete,
    lastMessageAt,
    hiddenArrival,
  }: {
    /** All message ids before the send; null if not all could be read. */
    readonly before: ReadonlySet<string> | null
    /** The text of one has changed, as a service may append a reply to a message. */
    readonly isChanged: boolean
    /** Ids that are matched to other write-backs. */
    readonly matchedIds: ReadonlySet<string>
    readonly payload: WritebackPayload['message']
    /** How many replies with the same words arrived that no message is known to be. */
    readonly duplicates: number
    /** Whether all current messages could be read. */
    readonly isComplete: boolean
    /** The time of the last message according to the conversation; null if unknown. */
    readonly lastMessageAt: EpochSeconds | null
    /** What else shows that a message arrived that the list hides; null: nothing. */
    readonly hiddenArrival: string | null
  },
): Verification {
  const unverifiable = (why: string, candidates: readonly SnapshotMessage[] = []): Verification => {
    const ids = candidates.slice(0, maxCandidates).map(({ id }) => id)
    return { event: 'unverifiable', why, ...(ids.length > 0 && { evidence: { candidates: ids } }) }
  }
  if (before === null) {
    const similar = messages.filter(
      (message) => !matchedIds.has(message.id) && matchesPayload(message, payload),
    )
    const similarText = similar[0] === undefined ? '' : `; message ${similar[0].id} is similar`
    return unverifiable(`not all messages could be read before it was sent${similarText}`, similar)
  }
  const added = newMessages(messages, before, matchedIds)
  const same = added.filter((message) => matchesPayload(message, payload))
  const own = same[duplicates]
  if (own !== undefined)
    return {
      event: 'found',
      why: `it is in the conversation (message ${own.id})`,
      messageId: own.id,
    }
  const [similar] = same
  if (similar !== undefined)
    return unverifiable(
      `message ${similar.id} may be an identical reply that was queued earlier`,
      same,
    )
  const [other] = added
  if (other !== undefined) return unverifiable(describeOtherForm(other), added)
  if (isChanged) return unverifiable(changedText)
  if (!isComplete) return unverifiable('the service does not show all messages of the conversation')
  const currentIds = new Set(messages.map(({ id }) => id))
  const missingId = [...before].find((id) => !currentIds.has(id))
  if (missingId !== undefined)
    return unverifiable(
      `the conversation no longer shows message ${missingId}, so other messages may be hidden too`,
    )
  if (messages.length > 0 && lastMessageAt === null)
    return unverifiable(
      'the service does not say when the last message was written, so it may list no newer ones',
    )
  // Not only one as late: the clock of another sender may be ahead.
  if (lastMessageAt !== null && !messages.some(({ at }) => at === lastMessageAt))
    return unverifiable(
      `the last message is of ${rfc3339(lastMessageAt)}, and the service does not list it`,
    )
  return hiddenArrival === null ? absent : unverifiable(hiddenArrival)
}

/** Messages that were not there before and are not matched to another write-back. */
export function newMessages(
  messages: readonly SnapshotMessage[],
  before: ReadonlySet<string>,
  matchedIds: ReadonlySet<string>,
): readonly SnapshotMessage[] {
  return messages.filter(({ id }) => !before.has(id) && !matchedIds.has(id))
}

/** Null if they were not all stored. */
export function messageIdsBefore({ evidence: { before } }: Writeback): ReadonlySet<string> | null {
  return before?.ids === undefined ? null : new Set(before.ids)
}

export function digestMessages(messages: readonly SnapshotMessage[]): string {
  const lines = messages.map(({ id, content }) => JSON.stringify([id, content])).sort()
  return createHash('sha256').update(lines.join('\n')).digest('base64url')
}

/** False if one is missing or no digest was stored. */
export function hasContentChanged(
  messages: readonly SnapshotMessage[],
  writeback: Writeback,
): boolean {
  const before = messageIdsBefore(writeback)
  const digest = writeback.evidence.before?.digest
  if (before === null || digest === undefined) return false
  const remaining = messages.filter(({ id }) => before.has(id))
  return remaining.length === before.size && digestMessages(remaining) !== digest
}

export type Trace = ReturnType<typeof readTrace>

export const changedText =
  'the text of an earlier message has changed, so the reply may be part of it'
export const describeOtherForm = ({ id }: SnapshotMessage) =>
  `message ${id} is new in the conversation and may be this reply in another form`

/**
 * What the conversation shows of a reply that the list does not; null: nothing. A reply reopens its
 * conversation, and is from its last sender. A listed new message of a visitor may explain the
 * former, one of the team both. Without all ids from before the send, any newer one may be it.
 */
export function findHiddenArrival(
  writeback: Writeback,
  current: readonly SnapshotMessage[],
  { handledAt, lastMessageAt, lastMessageSenderType }: Trace,
): string | null {
  const { before } = writeback.evidence
  if (before === undefined) return null
  const known = messageIdsBefore(writeback)
  const added = known === null ? [] : current.filter(({ id }) => !known.has(id))
  const unread = known === null ? 'not all its messages could be read' : null
  if (before.handledAt != null && handledAt === null && added.length === 0)
    return (
      'the conversation was reopened, as a reply does, and ' +
      `${unread ?? 'the service lists no new message'}`
    )
  const { lastMessageSenderType: sender, lastMessageAt: at } = before
  if (sender === undefined || added.some(({ side }) => side !== 'visitor')) return null
  const isByTeam = toMessageSide(lastMessageSenderType) === 'team'
  const isNew = at !== lastMessageAt || (isByTeam && toMessageSide(sender) !== 'team')
  if (isNew && isByTeam)
    return (
      'the conversation shows a newer message of the team, and ' +
      `${unread ?? 'the service does not list it'}`
    )
  return isNew && unread !== null ? `the conversation shows a newer message, and ${unread}` : null
}
