/**
 * Sends a reply. The service has no idempotency key, so a second send would reach the customer
 * twice. The message ids of the conversation are stored before the send; if no response comes, the
 * reply is searched among the new messages.
 */

import { createHash } from 'node:crypto'
import { toMessageSide } from '../../mirror/core/message-fields.ts'
import { messages } from '../../mirror/core/streams.ts'
import type { ApiResponse } from '../../service/core/api-request.ts'
import { findKey } from '../../values/field-path.ts'
import { asJsonObject } from '../../values/json.ts'
import { type EpochSeconds, parseTime, rfc3339 } from '../../values/time.ts'
import type { WritebackPayload } from '../core/operations.ts'
import type { Evidence, Writeback } from '../core/outbox-entry.ts'
import { describeRepetition, findRepetition, matchesPayload } from '../core/review-guards.ts'
import {
  type ConversationSnapshot,
  findViolation,
  readSnapshot,
  type SnapshotMessage,
} from './conversation-snapshot.ts'
import {
  type CreateHandler,
  isInDoubt,
  readTarget,
  readTrace,
  type Task,
  type Verification,
} from './operation-handler.ts'

export const createMessageHandler: CreateHandler<'message'> = ({ payload, expect }) => ({
  method: 'POST',
  path: '/messages',
  verifyDelayFactor: 1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    const body = { content: payload.content, senderName: payload.sender_name }
    // It was verified just now. A second read could count a late reply as a message from before the
    // send.
    if (isInDoubt(writeback))
      return { canSend: true, body, before: writeback.evidence.before ?? {} }
    const seen = expect === null ? null : await readTarget(task)
    const why = seen === null ? null : await findViolation(task, expect, seen)
    if (why !== null) return { canSend: false, event: 'conflicted', why }
    const snapshot = await readSnapshot(deps, writeback.target)
    const found =
      (await findEarlierSend(task, payload, snapshot)) ??
      (await findSentReply(task, payload, snapshot))
    if (found !== null) return { canSend: false, event: 'conflicted', ...found }
    // After the messages: what arrives in between is then new to the list, too.
    const trace = readTrace(seen ?? (await readTarget(task)))
    const doubt = await findArrival(task, snapshot, trace)
    if (doubt !== null) return { canSend: false, event: 'unverifiable', why: doubt }
    const { messages: current, isComplete } = snapshot
    const known = isComplete
      ? { ids: current.map(({ id }) => id), digest: digestMessages(current) }
      : {}
    return { canSend: true, body, before: { ...trace, ...known } }
  },
  verify: async (task) => {
    const { deps, writeback } = task
    // Before the messages: one that arrives in between is then in the list.
    const trace = readTrace(await readTarget(task))
    const lastMessageAt = parseTime(trace.lastMessageAt) ?? null
    const {
      messages: current,
      isComplete,
      ...read
    } = await readSnapshot(deps, writeback.target, { isProven: true })
    const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
    const before = messageIdsBefore(writeback)
    const isChanged =
      before !== null && hasContentChanged(current, before, writeback.evidence.before?.digest)
    const hiddenArrival = findHiddenArrival(writeback, current, trace)
    const context = {
      before,
      isChanged,
      matchedIds,
      payload,
      isComplete,
      lastMessageAt,
      hiddenArrival,
    }
    const verification = matchReply(current, context)
    // A person decides by what is there, so the mirror shows it before the row says so.
    const showMessages = () => deps.mirror.commit({ stream: 'messages', ...toCommit(read) })
    if (verification.kind === 'unverifiable') await showMessages()
    if (
      verification.kind !== 'found' ||
      !(await deps.outbox.hasUnmatchedDuplicate(writeback, payload))
    )
      return verification
    await showMessages()
    const { messageId } = verification
    const why = `message ${messageId} may be an identical reply that was queued earlier`
    return {
      kind: 'unverifiable',
      why,
      ...(messageId !== undefined && { candidates: [messageId] }),
    }
  },
  findMessageId: async (task, response) =>
    (await storeReturnedMessage(task, response)) ??
    (await findSentMessage(task, payload, response)),
})

const documentedFields = [
  'id',
  'conversationId',
  'senderType',
  'kind',
  'content',
  'senderDisplayName',
  'createdAt',
]

/** The response body of a write is not documented. If it is the complete message, it is stored. */
async function storeReturnedMessage(
  { deps, writeback }: Task,
  response: ApiResponse,
): Promise<string | null> {
  const fields = asJsonObject(response.data)
  if (fields === null || !documentedFields.every((name) => name in fields)) return null
  if (String(fields.conversationId).toLowerCase() !== writeback.target.toLowerCase()) return null
  const { rows } = messages.parseRows([response.data], writeback.target)
  await deps.mirror.commit({ stream: 'messages', rows, requestedAt: response.requestedAt })
  return findKey(response.data, ['id'])
}

/**
 * Finds the message that the reply created, by the id in the response or by its text, and stores
 * the messages.
 */
async function findSentMessage(
  { deps, writeback }: Task,
  payload: WritebackPayload['message'],
  response: ApiResponse,
) {
  const { messages: current, rows, requestedAt } = await readSnapshot(deps, writeback.target)
  await deps.mirror.commit({ stream: 'messages', rows, requestedAt })
  const before = messageIdsBefore(writeback)
  const returnedId = before === null ? null : messageIdIn(response, before)
  return returnedId ?? (await findNewMessage({ deps, writeback }, payload, current))?.id ?? null
}

/**
 * A message with these words that was not there before the last send; null also if it was never
 * sent.
 */
async function findNewMessage(
  { deps, writeback }: Task,
  payload: WritebackPayload['message'],
  current: readonly SnapshotMessage[],
): Promise<SnapshotMessage | null> {
  const before = messageIdsBefore(writeback)
  if (before === null) return null
  const added = newMessages(
    current,
    before,
    await deps.outbox.listMatchedMessageIds(writeback.lane),
  )
  return added.find((candidate) => matchesPayload(candidate, payload)) ?? null
}

type Repetition = { readonly why: string; readonly evidence?: Evidence }

/**
 * A person said that an earlier send did not arrive. What the team or an unknown sender wrote since
 * may be that send in another form, as services append signatures and shorten texts. Each message
 * stops it once: who queues it again after that has seen which it is.
 */
async function findEarlierSend(
  { deps, writeback }: Task,
  payload: WritebackPayload['message'],
  { utterances, messages: current, ...read }: ConversationSnapshot,
): Promise<Repetition | null> {
  const { earlier } = writeback.evidence
  if (earlier === undefined) return null
  const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
  const added = newMessages(utterances, new Set(earlier.ids), matchedIds).filter(
    ({ side }) => side !== 'visitor',
  )
  // Without the ids of all messages before the send, any of them may be new.
  const found =
    earlier.ids === undefined ? added.filter((message) => matchesPayload(message, payload)) : added
  const [first] = found
  if (first === undefined) return null
  await deps.mirror.commit({ stream: 'messages', ...toCommit(read) })
  const candidates = found.slice(0, maxCandidates).map(({ id }) => id)
  const ids = [...new Set([...(earlier.ids ?? []), ...current.map(({ id }) => id)])]
  return {
    why: `message ${first.id} has appeared since this was first sent, and may be it in another form`,
    evidence: { candidates, earlier: { ids } },
  }
}

function toCommit({ rows, requestedAt }: Pick<ConversationSnapshot, 'rows' | 'requestedAt'>) {
  return { rows, requestedAt }
}

/** Why it would reach the customer twice; null if nothing shows that. */
async function findSentReply(
  task: Task,
  payload: WritebackPayload['message'],
  { messages: current, clockOffset }: ConversationSnapshot,
): Promise<Repetition | null> {
  const { deps, writeback } = task
  const repeated = await findNewMessage(task, payload, current)
  if (repeated !== null)
    return {
      why: `message ${repeated.id} has the same words, and has appeared since this was last sent`,
    }
  // Judged by ids above.
  if (messageIdsBefore(writeback) !== null) return null
  const requeuedAt = await deps.outbox.findRequeueing(writeback)
  const age = {
    seenUntil: parseTime(writeback.targetSnapshot?.lastMessageAt) ?? null,
    queuedAt: (parseTime(requeuedAt ?? writeback.createdAt) ?? 0) + clockOffset,
    isRequeued: requeuedAt !== null,
  }
  const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
  const unmatched = current.filter(({ id }) => !matchedIds.has(id))
  const same = findRepetition(unmatched, payload, age)
  return same === null
    ? null
    : { why: describeRepetition(same), evidence: { alreadyThere: same.id } }
}

/**
 * Why a reply that was answered 429, which says that it was not sent, may have been sent after all;
 * null: nothing shows that. A visitor who writes meanwhile shows nothing.
 */
async function findArrival(
  { deps, writeback }: Task,
  { messages: current }: ConversationSnapshot,
  trace: Trace,
): Promise<string | null> {
  const before = messageIdsBefore(writeback)
  if (before === null) return findHiddenArrival(writeback, current, trace)
  const added = newMessages(
    current,
    before,
    await deps.outbox.listMatchedMessageIds(writeback.lane),
  )
  const byTeam = added.find(({ side }) => side !== 'visitor')
  if (byTeam !== undefined) return describeOtherForm(byTeam)
  if (hasContentChanged(current, before, writeback.evidence.before?.digest)) return changedText
  return findHiddenArrival(writeback, current, trace)
}

type Trace = ReturnType<typeof readTrace>

const changedText = 'the text of an earlier message has changed, so the reply may be part of it'
const describeOtherForm = ({ id }: SnapshotMessage) =>
  `message ${id} is new in the conversation and may be this reply in another form`

/**
 * What the conversation shows of a reply that the list of messages does not show yet; null:
 * nothing. A reply reopens its conversation, and its sender is the last one then. A listed new
 * message of a visitor may explain the former, one of the team both. Without the ids of all
 * messages before the send, any newer one may be the reply.
 */
function findHiddenArrival(
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
    return `the conversation was reopened, as a reply does, and ${unread ?? 'the service lists no new message'}`
  const { lastMessageSenderType: sender, lastMessageAt: at } = before
  if (sender === undefined || added.some(({ side }) => side !== 'visitor')) return null
  const isByTeam = toMessageSide(lastMessageSenderType) === 'team'
  const isNew = at !== lastMessageAt || (isByTeam && toMessageSide(sender) !== 'team')
  if (isNew && isByTeam)
    return `the conversation shows a newer message of the team, and ${unread ?? 'the service does not list it'}`
  return isNew && unread !== null ? `the conversation shows a newer message, and ${unread}` : null
}

/**
 * The new message id in the response, if it has the form of the known ids. The list may not show it
 * yet.
 */
function messageIdIn({ data }: ApiResponse, before: ReadonlySet<string>): string | null {
  const nested = asJsonObject(data)?.message
  const nestedId = nested === undefined ? null : findKey(nested, ['id'])
  const candidateId = findKey(data, ['messageId']) ?? nestedId ?? findKey(data, ['id'])
  const [knownId = '0'] = before
  if (candidateId === null || before.has(candidateId)) return null
  return isNumber(candidateId) === isNumber(knownId) ? candidateId : null
}

function isNumber(id: string): boolean {
  return /^\d{1,19}$/.test(id)
}

type ReplyContext = {
  /** All message ids before the send; null if not all could be read. */
  readonly before: ReadonlySet<string> | null
  /**
   * Whether the text of one of them has changed, as a service may append a reply to an existing
   * message.
   */
  readonly isChanged: boolean
  /** Ids that are matched to other write-backs. */
  readonly matchedIds: ReadonlySet<string>
  readonly payload: WritebackPayload['message']
  /** Whether all current messages could be read. */
  readonly isComplete: boolean
  /** The time of the last message according to the conversation; null if unknown. */
  readonly lastMessageAt: EpochSeconds | null
  /** What else shows that a message arrived that the list hides; null: nothing. */
  readonly hiddenArrival: string | null
}

/** A person looks at each. */
const maxCandidates = 20

/**
 * `absent`, which allows a resend, only if the list is exactly the same as before and has the last
 * message.
 */
export function matchReply(
  messages: readonly SnapshotMessage[],
  {
    before,
    isChanged,
    matchedIds,
    payload,
    isComplete,
    lastMessageAt,
    hiddenArrival,
  }: ReplyContext,
): Verification {
  const unverifiable = (why: string, candidates: readonly SnapshotMessage[] = []): Verification =>
    candidates.length === 0
      ? { kind: 'unverifiable', why }
      : {
          kind: 'unverifiable',
          why,
          candidates: candidates.slice(0, maxCandidates).map(({ id }) => id),
        }
  if (before === null) {
    const similar = messages.filter(
      (message) => !matchedIds.has(message.id) && matchesPayload(message, payload),
    )
    const similarText = similar[0] === undefined ? '' : `; message ${similar[0].id} is similar`
    return unverifiable(`not all messages could be read before it was sent${similarText}`, similar)
  }
  const added = newMessages(messages, before, matchedIds)
  const same = added.find((message) => matchesPayload(message, payload))
  if (same !== undefined)
    return {
      kind: 'found',
      how: `it is in the conversation (message ${same.id})`,
      messageId: same.id,
    }
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
  return hiddenArrival === null ? { kind: 'absent' } : unverifiable(hiddenArrival)
}

/** Messages that were not there before and are not matched to another write-back. */
function newMessages(
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

/** A digest of the messages' texts, independent of their order. */
function digestMessages(messages: readonly SnapshotMessage[]): string {
  const lines = messages.map(({ id, content }) => JSON.stringify([id, content])).sort()
  return createHash('sha256').update(lines.join('\n')).digest('base64url')
}

/**
 * Whether the texts of the earlier messages changed; false if one is missing or no digest was
 * stored.
 */
function hasContentChanged(
  messages: readonly SnapshotMessage[],
  before: ReadonlySet<string>,
  digest: string | undefined,
): boolean {
  const remaining = messages.filter(({ id }) => before.has(id))
  return (
    digest !== undefined && remaining.length === before.size && digestMessages(remaining) !== digest
  )
}
