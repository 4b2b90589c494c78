/**
 * Sends a reply. There is no idempotency key, so a second send would reach the customer twice: the
 * message ids are stored before the send, and without a response the new messages are searched.
 */

import type { ApiResponse } from '../../service/core/api-request.ts'
import { findKey } from '../../values/field-path.ts'
import { asJsonObject } from '../../values/json.ts'
import { parseTime } from '../../values/time.ts'
import type { WritebackPayload } from '../core/operations.ts'
import { describeRepetition, findRepetitions, matchesPayload } from '../core/review/guards.ts'
import {
  type ConversationSnapshot,
  findViolation,
  readSnapshot,
  type SnapshotMessage,
} from './conversation-snapshot.ts'
import {
  changedText,
  describeOtherForm,
  digestMessages,
  findHiddenArrival,
  hasContentChanged,
  matchReply,
  maxCandidates,
  messageIdsBefore,
  newMessages,
  type Trace,
} from './match-reply.ts'
import {
  type CreateHandler,
  isInDoubt,
  readTarget,
  readTrace,
  storeMessages,
  type Task,
} from './operation-handler.ts'

export const createMessageHandler: CreateHandler<'message'> = ({ payload, expect }) => ({
  method: 'POST',
  path: '/messages',
  verifyDelayFactor: 1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    const body = { content: payload.content, senderName: payload.sender_name }
    // Verified just now. A second read could count a late reply as one from before the send.
    if (isInDoubt(writeback)) return { body, before: writeback.evidence.before ?? {} }
    const seen = expect === null ? null : await readTarget(task)
    const why = seen === null ? null : await findViolation(task, expect, seen)
    if (why !== null) return { event: 'conflicted', why }
    const snapshot = await readSnapshot(deps, writeback.target)
    const found =
      (await findEarlierSend(task, payload, snapshot)) ??
      (await findSentReply(task, payload, snapshot))
    if (found !== null) return { event: 'conflicted', ...found }
    // After the messages: what arrives in between is then new to the list, too.
    const trace = readTrace(seen ?? (await readTarget(task)))
    const doubt = await findArrival(task, snapshot, trace)
    if (doubt !== null) return { event: 'unverifiable', why: doubt }
    const { messages: current, isComplete } = snapshot
    const known = isComplete
      ? { ids: current.map(({ id }) => id), digest: digestMessages(current) }
      : {}
    return { body, before: { ...trace, ...known } }
  },
  verify: async (task) => {
    const { deps, writeback } = task
    // Before the messages: one that arrives in between is then in the list.
    const trace = readTrace(await readTarget(task))
    const {
      messages: current,
      isComplete,
      ...read
    } = await readSnapshot(deps, writeback.target, { isProven: true })
    const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
    const verification = matchReply(current, {
      before: messageIdsBefore(writeback),
      isChanged: hasContentChanged(current, writeback),
      matchedIds,
      payload,
      duplicates: await deps.outbox.countUnmatchedDuplicates(writeback, payload, current),
      isComplete,
      lastMessageAt: parseTime(trace.lastMessageAt) ?? null,
      hiddenArrival: findHiddenArrival(writeback, current, trace),
    })
    // A person decides by what is there, so the mirror shows it before the row says so.
    if (verification.event === 'unverifiable') await storeMessages(task, read)
    return verification
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
async function storeReturnedMessage(task: Task, response: ApiResponse): Promise<string | null> {
  const fields = asJsonObject(response.data)
  if (fields === null || !documentedFields.every((name) => name in fields)) return null
  if (String(fields.conversationId).toLowerCase() !== task.writeback.target.toLowerCase())
    return null
  await storeMessages(task, { rows: [{ item: response.data }], requestedAt: response.requestedAt })
  return findKey(response.data, ['id'])
}

/**
 * By the id in the response, which need not be that of the message, or by its text. Stores the
 * messages.
 */
async function findSentMessage(
  task: Task,
  payload: WritebackPayload['message'],
  response: ApiResponse,
) {
  const { deps, writeback } = task
  const { messages: current, ...read } = await readSnapshot(deps, writeback.target)
  await storeMessages(task, read)
  const before = messageIdsBefore(writeback)
  const returnedId = before === null ? null : messageIdIn(response, before)
  if (current.some(({ id }) => id === returnedId)) return returnedId
  const added = await findNewMessages(task, current)
  return added?.find((message) => matchesPayload(message, payload))?.id ?? returnedId
}

/** Those that were not there before its last send; null if it was never sent. */
async function findNewMessages(
  { deps, writeback }: Task,
  current: readonly SnapshotMessage[],
): Promise<readonly SnapshotMessage[] | null> {
  const before = messageIdsBefore(writeback)
  const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
  return before && newMessages(current, before, matchedIds)
}

/**
 * A person said that an earlier send did not arrive. What came since may be that send in another
 * form, as services append signatures and shorten texts. Each message stops it once: who queues it
 * again has seen which it is.
 */
async function findEarlierSend(
  task: Task,
  payload: WritebackPayload['message'],
  { utterances, messages: current, ...read }: ConversationSnapshot,
) {
  const { deps, writeback } = task
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
  await storeMessages(task, read)
  const candidates = found.slice(0, maxCandidates).map(({ id }) => id)
  const ids = [...new Set([...(earlier.ids ?? []), ...current.map(({ id }) => id)])]
  return {
    why:
      `message ${first.id} has appeared since this was first sent, and ` +
      'may be it in another form',
    evidence: { candidates, earlier: { ids } },
  }
}

/** Null if nothing shows that it would reach the customer twice. */
async function findSentReply(
  task: Task,
  payload: WritebackPayload['message'],
  { messages: current, clockOffset }: ConversationSnapshot,
) {
  const { deps, writeback } = task
  const added = await findNewMessages(task, current)
  const repeated = added?.find((message) => matchesPayload(message, payload))
  if (repeated !== undefined)
    return {
      why: `message ${repeated.id} has the same words, and has appeared since this was last sent`,
    }
  // Judged by ids above.
  if (added !== null) return null
  const requeuedAt = await deps.outbox.findRequeueing(writeback)
  const matchedIds = await deps.outbox.listMatchedMessageIds(writeback.lane)
  const unmatched = current.filter(({ id }) => !matchedIds.has(id))
  const all = findRepetitions(unmatched, payload, writeback, requeuedAt, clockOffset)
  // As many are replies with the same words that went out before, on purpose.
  const same = all[await deps.outbox.countUnmatchedDuplicates(writeback, payload, current)]
  return same === undefined
    ? null
    : { why: describeRepetition(same), evidence: { alreadyThere: same.id } }
}

/**
 * A 429 says that it was not sent; null: nothing shows that it was. A visitor's message does not.
 */
async function findArrival(
  task: Task,
  { messages: current }: ConversationSnapshot,
  trace: Trace,
): Promise<string | null> {
  const { writeback } = task
  const byTeam = (await findNewMessages(task, current))?.find(({ side }) => side !== 'visitor')
  if (byTeam !== undefined) return describeOtherForm(byTeam)
  return hasContentChanged(current, writeback)
    ? changedText
    : findHiddenArrival(writeback, current, trace)
}

/** If it has the form of the known ids. The list may not show it yet. */
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
