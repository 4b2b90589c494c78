/** Reads the messages of a conversation from the service. */

import type { MirrorRow } from '../../../schema/row.ts'
import { type MessageSide, toMessageSide } from '../../mirror/core/message-side.ts'
import { documentedPageSizes } from '../../mirror/core/pagination/list-endpoint.ts'
import { decodeProfile, type PagingProfile } from '../../mirror/core/pagination/paging-profile.ts'
import { allTime, type TimeRange } from '../../mirror/core/pagination/pending-ranges.ts'
import { messages } from '../../mirror/streams/messages.ts'
import { readList } from '../../mirror/sync/list-reader.ts'
import { type EpochMs, type EpochSeconds, parseTime } from '../../values/time.ts'
import type { WritebackDeps } from './operation-handler.ts'

export type SnapshotMessage = {
  readonly id: string
  readonly at: EpochSeconds | null
  readonly content: string | null
  readonly senderName: string | null
  readonly side: MessageSide
}

export type ConversationSnapshot = {
  /** Oldest first, without system events. */
  readonly utterances: readonly SnapshotMessage[]
  /** Including system events, as it is not documented which messages are system events. */
  readonly messages: readonly SnapshotMessage[]
  /** The same messages as rows for the mirror. */
  readonly rows: readonly MirrorRow[]
  readonly requestedAt: EpochMs
  /** How far the service's clock is ahead of ours, in seconds; 0 if its responses do not say. */
  readonly clockOffset: number
  /** False if messages may be missing. */
  readonly isComplete: boolean
}

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

type MessagePages = {
  readonly rows: ReadonlyMap<string, MirrorRow>
  readonly pages: number
  readonly isComplete: boolean
  /** The time of the middle row of the first page. */
  readonly middleTime: EpochSeconds | null
  readonly profile: PagingProfile
  readonly clockOffset: number
}

async function readMessagePages(
  deps: WritebackDeps,
  conversation: string,
  range: TimeRange,
  knownProfile: PagingProfile | null,
): Promise<MessagePages> {
  const list = messages.list(deps.projectId, conversation)
  let profile = knownProfile ?? decodeProfile(list, await deps.outbox.readBehaviours())
  const rows = new Map<string, MirrorRow>()
  let [pages, isComplete, isInOrder] = [0, true, true]
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

function toSnapshot({ rows, isComplete, clockOffset }: MessagePages, requestedAt: EpochMs): ConversationSnapshot {
  const all = [...rows.values()]
  const oldestFirst = (some: readonly MirrorRow[]) => some.map(toSnapshotMessage).sort(compareByTime)
  return {
    utterances: oldestFirst(all.filter(isUtterance)),
    messages: oldestFirst(all),
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
