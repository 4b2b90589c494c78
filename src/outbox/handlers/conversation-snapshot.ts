/** Reads the messages of a conversation from the service. */
import type { MirrorRow } from '../../../schema/row.ts'
import { toMessageSide } from '../../mirror/core/message-fields.ts'
import { decodeProfile, documentedPageSizes } from '../../mirror/core/pagination/paging-profile.ts'
import { allTime } from '../../mirror/core/pagination/pending-ranges.ts'
import type { MessageSide, PagingProfile, TimeRange } from '../../mirror/mirror.ts'
import { conversations, messages } from '../../mirror/streams/all-streams.ts'
import { readList } from '../../mirror/sync/pages.ts'
import type { ApiResponse } from '../../service/core/api-request.ts'
import { asJsonObject } from '../../values/json.ts'
import { type EpochMs, type EpochSeconds, parseTime, rfc3339 } from '../../values/time.ts'
import { toLaneName } from '../core/operations.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import type { ShownReply } from '../core/review-guards.ts'
import type { Task, WritebackDeps } from './operation-handler.ts'

export type SnapshotMessage = ShownReply & { readonly side: MessageSide }

export type ConversationSnapshot = ReturnType<typeof toSnapshot>

/** Longer conversations are not read to the end, so replies in them cannot be verified. */
const maxPages = 50

/** Reads all messages: the service's clocks may be wrong, so a time bound could exclude the message. Throws ApiError. */
export async function readSnapshot(deps: WritebackDeps, conversation: string): Promise<ConversationSnapshot> {
  const requestedAt = deps.now()
  return toSnapshot(await readMessagePages(deps, conversation, allTime, null), requestedAt)
}

/**
 * Reads all messages and checks that none was skipped. A page starts at the last time seen, so a row with a time in the
 * future at the end of a page makes the next page start too late. A list of several pages is read again from the middle
 * of the first page and must show the same messages. Throws ApiError.
 */
export async function readSnapshotTwice(deps: WritebackDeps, conversation: string): Promise<ConversationSnapshot> {
  const requestedAt = deps.now()
  const first = await readMessagePages(deps, conversation, allTime, null)
  const { middleTime, profile, rows } = first
  if (first.pages <= 1 || !first.isComplete || middleTime === null) return toSnapshot(first, requestedAt)
  const range = profile.ends.unbounded === 'newest' ? { lo: 0, hi: middleTime } : { lo: middleTime, hi: null }
  const again = await readMessagePages(deps, conversation, range, profile)
  const isConsistent = again.isComplete && [...again.rows.keys()].every((id) => rows.has(id))
  return toSnapshot({ ...first, rows: new Map([...again.rows, ...rows]), isComplete: isConsistent }, requestedAt)
}

type MessagePages = Awaited<ReturnType<typeof readMessagePages>>

async function readMessagePages(
  deps: WritebackDeps,
  conversation: string,
  range: TimeRange,
  knownProfile: PagingProfile | null,
) {
  const list = messages.list(deps.projectId, conversation)
  let profile = knownProfile ?? decodeProfile(list, await deps.outbox.readBehaviours())
  const rows = new Map<string, MirrorRow>()
  let [pages, isComplete, isInOrder] = [0, true, true]
  /** The time of the middle row of the first page. */
  let middleTime: EpochSeconds | null = null
  let clockOffset: number | null = null
  for await (const read of readList(deps.get, { list, profile, ranges: [range], priority: 'write' })) {
    const { rows: messageRows, rejectedRows } = messages.parseRows(read.items, conversation)
    const snapshots = messageRows.map(toSnapshotMessage)
    for (const row of messageRows) rows.set(String(row.columns.id), row)
    profile = read.profile
    const serverDate = read.response?.serverDate ?? null
    if (serverDate !== null) clockOffset ??= serverDate - Math.floor(deps.now() / 1000)
    middleTime ??= snapshots[snapshots.length >> 1]?.at ?? null
    if (read.isLastOfResponse && read.items.length > 0) pages += 1
    isComplete &&= rejectedRows.length + read.rejectedRows.length + read.missedRanges.length === 0
    isComplete &&= messageRows.every(({ columns }) => columns.id != null)
    isInOrder &&= isSorted(snapshots)
    if (read.observations.length > 0) await deps.outbox.recordBehaviours(read.observations)
    if ((pages >= maxPages || rows.size > maxPages * documentedPageSizes.most) && !read.isComplete) {
      isComplete = false
      break
    }
  }
  // If rows are not ordered by time, rows between pages may be skipped.
  return {
    rows,
    pages,
    isComplete: isComplete && (isInOrder || pages <= 1),
    middleTime,
    profile,
    clockOffset: clockOffset ?? 0,
  }
}

/**
 * `clockOffset`: how far the service's clock is ahead of ours, in seconds; 0 if its responses do not say. `isComplete`: false
 * if messages may be missing.
 */
function toSnapshot({ rows, isComplete, clockOffset }: MessagePages, requestedAt: EpochMs) {
  const all = [...rows.values()]
  const oldestFirst = (some: readonly MirrorRow[]) => some.map(toSnapshotMessage).sort(compareByTime)
  return {
    /** Oldest first, without system events. */
    utterances: oldestFirst(all.filter(isUtterance)),
    /** Including system events, as it is not documented which messages are system events. */
    messages: oldestFirst(all),
    /** The same messages as rows for the mirror. */
    rows: all,
    requestedAt,
    clockOffset,
    isComplete,
  }
}

/** In ascending or descending order. */
function isSorted(page: readonly SnapshotMessage[]): boolean {
  const steps = page.slice(1).map(({ at }, n) => Math.sign((at ?? Number.NaN) - (page[n]?.at ?? Number.NaN)))
  return !steps.some(Number.isNaN) && !(steps.includes(1) && steps.includes(-1))
}

/** According to the API documentation, every other kind is a system event. */
function isUtterance({ columns }: MirrorRow): boolean {
  return columns.kind === 'utterance' || columns.kind === undefined || columns.kind === null
}

function toSnapshotMessage({ columns }: MirrorRow): SnapshotMessage {
  return {
    id: String(columns.id),
    at: parseTime(columns.created_at) ?? null,
    content: textOrNull(columns.content),
    senderName: textOrNull(columns.sender_display_name),
    side: toMessageSide(columns.sender_type),
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function compareByTime(a: SnapshotMessage, b: SnapshotMessage): number {
  return (a.at ?? 0) - (b.at ?? 0) || (/^\d+$/.test(a.id + b.id) ? Number(BigInt(a.id) - BigInt(b.id)) : 0)
}

/** What the person saw: the conversation up to this second (in the mirror or elsewhere), or up to this message. */
type Precondition = { readonly at: EpochSeconds; readonly isFromMirror: boolean } | { readonly id: string }

/** From `expect`, else from the mirror as it was when queued, else from the time of queueing. */
function toPrecondition(writeback: Writeback, expect: string | null, conversation: ApiResponse): Precondition {
  const expectedAt = parseTime(expect)
  if (expectedAt !== undefined) return { at: expectedAt, isFromMirror: false }
  if (expect !== null) return { id: expect }
  const mirroredAt = parseTime(writeback.targetSnapshot?.last_message_at)
  if (mirroredAt !== undefined) return { at: mirroredAt, isFromMirror: true }
  // Corrects for the difference between the service's clock and ours.
  const clockOffset =
    conversation.serverDate === null ? 0 : conversation.serverDate - Math.floor(conversation.requestedAt / 1000)
  return { at: (parseTime(writeback.createdAt) ?? 0) + clockOffset, isFromMirror: false }
}

/**
 * Why the write-back must not be sent; null if the precondition holds. Compares times, and also ids because clocks may be
 * wrong: if the mirror has what the person saw, a message that the mirror lacks is new. Throws ApiError.
 */
export async function findViolation(
  { deps, writeback }: Task,
  expect: string | null,
  conversation: ApiResponse,
  conversationId = writeback.target,
): Promise<string | null> {
  const precondition = toPrecondition(writeback, expect, conversation)
  const fields = asJsonObject(conversation.data)
  const last = parseTime(fields?.lastMessageAt)
  const hasMoved = 'id' in precondition || last === undefined || last > precondition.at
  const isByVisitor = toMessageSide(fields?.lastMessageSenderType) === 'visitor'
  if ('at' in precondition && last !== undefined && hasMoved && isByVisitor)
    return `a visitor wrote at ${rfc3339(last)}, after ${rfc3339(precondition.at)}`
  const mirroredIds = await readMirroredIds(deps, conversationId, precondition)
  if (!hasMoved && mirroredIds === null) return null
  const { utterances, isComplete } = await readSnapshot(deps, conversationId)
  const later =
    'at' in precondition
      ? utterances.filter(({ at }) => (at ?? Number.POSITIVE_INFINITY) > precondition.at)
      : messagesAfter(utterances, precondition.id)
  if (later === null) return `the message ${'id' in precondition ? precondition.id : ''} is not in the conversation`
  const isMirrored = ({ id }: SnapshotMessage) => mirroredIds === null || mirroredIds.has(id)
  const unseen = utterances.filter((message) => later.includes(message) || !isMirrored(message))
  const ownIds = await deps.outbox.listMatchedMessageIds(toLaneName('conversation', conversationId))
  // An unknown sender is treated as a visitor, which is the safe error.
  const violation = unseen.find((message) => message.side !== 'team' && !ownIds.has(message.id))
  if (violation !== undefined)
    return `a visitor wrote ${violation.at === null ? 'since' : `at ${rfc3339(violation.at)}`} (message ${violation.id})`
  return isComplete || !hasMoved ? null : 'the service does not show all messages, so a visitor may have written since'
}

/** Ids of the mirrored messages; null if the mirror does not contain what the person saw. */
async function readMirroredIds(
  deps: WritebackDeps,
  conversationId: string,
  precondition: Precondition,
): Promise<ReadonlySet<string> | null> {
  if ('at' in precondition && !precondition.isFromMirror) return null
  const { ids, newest } = await deps.outbox.readMirroredMessages(conversationId)
  const isMirrored =
    'id' in precondition ? ids.has(precondition.id) : (parseTime(newest) ?? Number.NEGATIVE_INFINITY) >= precondition.at
  return isMirrored ? ids : null
}

function messagesAfter(messages: readonly SnapshotMessage[], id: string): readonly SnapshotMessage[] | null {
  const index = messages.findIndex((message) => message.id === id)
  return index < 0 ? null : messages.slice(index + 1)
}

/** The same for a visitor's name, email or note: checks the conversation that `expect` refers to. Throws ApiError. */
export async function findVisitorViolation(task: Task, expect: string | null): Promise<string | null> {
  const { deps, writeback } = task
  if (expect === null) return null
  const messageId = parseTime(expect) === undefined ? expect : null
  const conversationId = await deps.outbox.findConversation(writeback.target, messageId)
  if (conversationId === null)
    return 'the mirror has no conversation of this visitor, so the expected message cannot be found'
  const conversation = await deps.get(conversations.rowPath(deps.projectId, conversationId), {}, 'write')
  return findViolation(task, expect, conversation, conversationId)
}
