/** What was said in a conversation, as the service shows it now. */
import { readList } from '../../api/list-reader.ts'
import type { MirrorRow } from '../../core/row.ts'
import { type EpochMs, parseTime, type Seconds } from '../../core/time.ts'
import { type PagingProfile, decodeProfile } from '../../core/pagination/paging-profile.ts'
import { maxPageSize } from '../../core/pagination/list-endpoint.ts'
import { allTime, type TimeRange } from '../../core/pagination/pending-ranges.ts'
import { messages } from '../../streams/messages.ts'
import type { WritebackDeps } from '../deps.ts'

export type SnapshotMessage = {
  readonly id: string
  readonly at: Seconds | null
  readonly content: string | null
  readonly senderName: string | null
  readonly side: MessageSide
}

/** Of the values only `agent` is documented. */
export type MessageSide = 'ours' | 'visitor' | 'unknown'

export type ConversationSnapshot = {
  /** Oldest first, system events left out. */
  readonly utterances: readonly SnapshotMessage[]
  /** With system events: what a service takes for one is not documented. */
  readonly messages: readonly SnapshotMessage[]
  /** The same as rows for the mirror, with the moment they were asked for. */
  readonly rows: readonly MirrorRow[]
  readonly askedAt: EpochMs
  /** False: there may be messages that did not show. */
  readonly isComplete: boolean
}

/** A conversation with more pages is not read to its end: what became of a reply in it, nobody can tell. */
const maxPages = 50

/**
 * Every message, from the first one on: any bound of time could leave out just the one that is looked for, as the clocks of
 * a service may be wrong. Throws CallFailed.
 */
export async function readSnapshot(deps: WritebackDeps, conversation: string): Promise<ConversationSnapshot> {
  const askedAt = deps.now()
  return toSnapshot(await readMessagePages(deps, conversation, allTime, null), askedAt)
}

/**
 * The same, where it matters that nothing is passed by: pages are asked for from the last time seen, and one row that is
 * dated ahead and ends a page lets the next one begin too late. So what takes more than a page is read again from the
 * middle of the first one, and has to show the same. Throws CallFailed.
 */
export async function readSnapshotTwice(deps: WritebackDeps, conversation: string): Promise<ConversationSnapshot> {
  const askedAt = deps.now()
  const first = await readMessagePages(deps, conversation, allTime, null)
  const { middleTime, profile, rows } = first
  if (first.pages <= 1 || !first.isComplete || middleTime === null) return toSnapshot(first, askedAt)
  const range = (profile.direction ?? 'up') === 'up' ? { lo: middleTime, hi: null } : { lo: 0, hi: middleTime }
  const again = await readMessagePages(deps, conversation, range, profile)
  const isConsistent = again.isComplete && [...again.rows.keys()].every((id) => rows.has(id))
  return toSnapshot({ ...first, rows: new Map([...again.rows, ...rows]), isComplete: isConsistent }, askedAt)
}

type MessagePages = {
  readonly rows: ReadonlyMap<string, MirrorRow>
  readonly pages: number
  readonly isComplete: boolean
  /** A time from the middle of the first page. */
  readonly middleTime: Seconds | null
  readonly profile: PagingProfile
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
  let middleTime: Seconds | null = null
  for await (const read of readList(deps.get, { list, profile, ranges: [range], priority: 'write' })) {
    const { rows: messageRows, refused } = messages.parseRows(read.items, conversation)
    const snapshots = messageRows.map(toSnapshotMessage)
    for (const row of messageRows) rows.set(String(row.columns.id), row)
    profile = read.profile
    middleTime ??= snapshots[snapshots.length >> 1]?.at ?? null
    if (read.isLastOfAnswer && read.items.length > 0) pages += 1
    isComplete &&= refused.length + read.refused.length + read.missedRanges.length === 0
    isComplete &&= messageRows.every(({ columns }) => columns.id != null)
    isInOrder &&= isSorted(snapshots)
    if (read.observations.length > 0) await deps.outbox.recordBehaviours(read.observations)
    if ((pages >= maxPages || rows.size > maxPages * maxPageSize) && !read.isComplete) {
      isComplete = false
      break
    }
  }
  // Where rows are not in the order of their times, the step from one page to the next may pass some by.
  return { rows, pages, isComplete: isComplete && (isInOrder || pages <= 1), middleTime, profile }
}

function toSnapshot({ rows, isComplete: whole }: MessagePages, askedAt: EpochMs): ConversationSnapshot {
  const all = [...rows.values()]
  const oldestFirst = (some: readonly MirrorRow[]) => some.map(toSnapshotMessage).sort(compareByTime)
  return { utterances: oldestFirst(all.filter(isUtterance)), messages: oldestFirst(all), rows: all, askedAt, isComplete: whole }
}

/** One way or the other. */
function isSorted(page: readonly SnapshotMessage[]): boolean {
  const steps = page.slice(1).map(({ at }, n) => Math.sign((at ?? Number.NaN) - (page[n]?.at ?? Number.NaN)))
  return !steps.some(Number.isNaN) && !(steps.includes(1) && steps.includes(-1))
}

/** The documentation calls every other kind a system event. */
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

export function toMessageSide(senderType: unknown): MessageSide {
  const name = String(senderType ?? '').toLowerCase()
  if (/^(agent|human_agent|ai|ai_agent|assistant|bot|system|automation|operator|team|workflow)$/.test(name))
    return 'ours'
  return /^(visitor|customer|user|end_?user|contact|guest|lead|client)$/.test(name) ? 'visitor' : 'unknown'
}

function compareByTime(a: SnapshotMessage, b: SnapshotMessage): number {
  return (a.at ?? 0) - (b.at ?? 0) || (/^\d+$/.test(a.id + b.id) ? Number(BigInt(a.id) - BigInt(b.id)) : 0)
}
