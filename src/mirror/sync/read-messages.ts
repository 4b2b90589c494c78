/** Reads the messages of a conversation apart from any sync. Stores no row. */
import type { MirrorRow, ServiceBehaviour } from '../../../schema/row.ts'
import type { ApiGet } from '../../service/core/api-request.ts'
import type { Json } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type EpochSeconds, parseTime, type Seconds } from '../../values/time.ts'
import { allTime, type TimeRange } from '../core/pagination/list-cursor.ts'
import {
  decodeProfile,
  documentedPageSizes,
  type PagingProfile,
} from '../core/pagination/paging-profile.ts'
import { countSteps } from '../core/pagination/sort-order.ts'
import { messages } from '../core/streams.ts'
import { readList } from './pages.ts'

type ReadMessagesDeps<Item extends Json> = {
  readonly projectId: ProjectId
  readonly get: ApiGet<Item>
  readonly now: () => EpochMs
  readonly readBehaviours: () => Promise<ReadonlyMap<string, string>>
  readonly recordBehaviours: (observations: readonly ServiceBehaviour[]) => Promise<void>
}

export type MessagesRead<Item extends Json = Json> = {
  /** One for each message. */
  readonly rows: readonly MirrorRow<Item>[]
  readonly requestedAt: EpochMs
  /** How far the service's clock is ahead of ours; 0 if its responses do not say. */
  readonly clockOffset: Seconds
  /** False: messages may be missing. */
  readonly isComplete: boolean
}

/** Longer conversations are not read to the end. */
const maxPages = 50

/**
 * All messages, without a time bound, as the service's clocks may be wrong. A row with a time in
 * the future at the end of a page makes the next one start too late. `isProven`: a list of several
 * pages is therefore read again from the middle of the first, and must show the same. Throws
 * ApiError.
 */
export async function readMessages<Item extends Json>(
  deps: ReadMessagesDeps<Item>,
  conversation: string,
  { isProven = false } = {},
): Promise<MessagesRead<Item>> {
  const requestedAt = deps.now()
  const first = await readMessagePages(deps, conversation, allTime, null)
  const { middleTime, profile, rows, clockOffset } = first
  const found = { rows: [...rows.values()], requestedAt, clockOffset, isComplete: first.isComplete }
  if (!isProven || first.pages <= 1 || !first.isComplete || middleTime === null) return found
  const range =
    profile.ways.unbounded === 'backward' ? { lo: 0, hi: middleTime } : { lo: middleTime, hi: null }
  const again = await readMessagePages(deps, conversation, range, profile)
  const isComplete = again.isComplete && [...again.rows.keys()].every((id) => rows.has(id))
  return { ...found, rows: [...new Map([...again.rows, ...rows]).values()], isComplete }
}

async function readMessagePages<Item extends Json>(
  deps: ReadMessagesDeps<Item>,
  conversation: string,
  range: TimeRange,
  knownProfile: PagingProfile | null,
) {
  const list = messages.list(deps.projectId, conversation)
  let profile = knownProfile ?? decodeProfile(list, await deps.readBehaviours())
  const rows = new Map<string, MirrorRow<Item>>()
  let pages = 0
  let isComplete = true
  let isInOrder = true
  /** The time of the middle row of the first page. */
  let middleTime: EpochSeconds | null = null
  let clockOffset: Seconds | null = null
  for await (const batch of readList(deps.get, {
    list,
    profile,
    ranges: [range],
    priority: 'write',
  })) {
    const parsed = messages.parseRows(batch.items, conversation)
    for (const row of parsed.rows) rows.set(String(row.columns.id), row)
    profile = batch.profile
    const serverDate = batch.response?.serverDate ?? null
    if (serverDate !== null) clockOffset ??= serverDate - Math.floor(deps.now() / 1000)
    middleTime ??= timeOf(parsed.rows[parsed.rows.length >> 1]) ?? null
    if (batch.isLastOfResponse && batch.items.length > 0) pages += 1
    isComplete &&=
      parsed.rejectedRows.length + batch.rejectedRows.length + batch.missedRanges.length === 0
    isComplete &&= parsed.rows.every(({ columns }) => columns.id != null)
    isInOrder &&= isSorted(parsed.rows)
    if (batch.observations.length > 0) await deps.recordBehaviours(batch.observations)
    if (
      (pages >= maxPages || rows.size > maxPages * documentedPageSizes.most) &&
      !batch.isComplete
    ) {
      isComplete = false
      break
    }
  }
  // If rows are not ordered by time, rows between pages may be skipped.
  const isWhole = isComplete && (isInOrder || pages <= 1)
  return { rows, pages, isComplete: isWhole, middleTime, profile, clockOffset: clockOffset ?? 0 }
}

function timeOf(row: MirrorRow<Json> | undefined): EpochSeconds | undefined {
  return parseTime(row?.columns.created_at)
}

function isSorted(rows: readonly MirrorRow<Json>[]): boolean {
  const times = rows.flatMap((row) => timeOf(row) ?? [])
  const { rises, falls } = countSteps(times)
  return rows.length <= 1 || (times.length === rows.length && (rises === 0 || falls === 0))
}
