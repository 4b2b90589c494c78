/** Reads a list page by page: sends the requests of a scan and yields the rows. The scan is its only state. */

import type { ApiGet, ApiResponse } from '../core/api-request.ts'
import { type ListEndpoint, maxPageSize } from '../core/pagination/list-endpoint.ts'
import { findFutureDated, type ScanPage } from '../core/pagination/page-evidence.ts'
import { observations, type PagingProfile } from '../core/pagination/paging-profile.ts'
import type { TimeRange } from '../core/pagination/pending-ranges.ts'
import { applyPage, applyRefusal, nextRequest, pendingRanges, startScan } from '../core/pagination/scan.ts'
import { gapReasons, type ScanState, type ScanStep } from '../core/pagination/scan-state.ts'
import type { TimeBounds } from '../core/pagination/sort-order.ts'
import { applyStartCheck, startCheckFor } from '../core/pagination/start-check.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Json, RefusedRow, ServiceBehaviour } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import { type PageReply, requestPage } from './page-request.ts'

export type MissedRange = { readonly range: TimeRange; readonly reason: string }

/** An answer, or a part of it. Store all of it: a scan that stops after it continues from `pendingRanges`. */
export type PageBatch = {
  readonly items: readonly Json[]
  /** Rows that are too large to be parsed. */
  readonly refused: readonly RefusedRow[]
  /** Whether these are the last rows of their answer: a large answer is yielded in parts. */
  readonly isLastOfAnswer: boolean
  /** Null where there is none: the service refused the request, or its answer was yielded before. */
  readonly answer: ApiResponse | null
  /** The ranges that this scan or the next must still read. */
  readonly pendingRanges: readonly TimeRange[]
  readonly missedRanges: readonly MissedRange[]
  readonly observations: readonly ServiceBehaviour[]
  readonly profile: PagingProfile
  /** The ids of rows that are dated ahead of the clocks. */
  readonly futureDatedIds: readonly string[]
  /** All ranges have been read. */
  readonly isComplete: boolean
}

export type ListReadOptions = {
  readonly list: ListEndpoint
  /** What earlier scans learned; null = nothing. */
  readonly profile: PagingProfile | null
  readonly ranges: readonly TimeRange[]
  readonly priority: Priority
  /** Whether the service reports more rows even after the last page; null = not known yet. */
  readonly alwaysHasMore?: boolean | null
}

/** Every page of the ranges, in an order that the service decides. Throws ApiError. */
export async function* readList(
  get: ApiGet,
  { list, profile, ranges, priority, alwaysHasMore }: ListReadOptions,
): AsyncGenerator<PageBatch> {
  let scan = startScan(list, profile, ranges, alwaysHasMore)
  let reportedProfile = scan.profile
  while (scan.currentRange !== null) {
    const timeBounds = nextRequest(scan)
    const reply = await requestPage(get, scan, timeBounds, {}, priority)
    if (reply.kind === 'page') scan = await runStartCheck(get, scan, timeBounds, reply.page, priority)
    const next = reply.kind === 'page' ? applyPage(scan, timeBounds, reply.page) : applyRefusal(scan, reply.parameter)
    const batch = toPageBatch(list, reportedProfile, next, reply, timeBounds)
    const unfinished = {
      pendingRanges: pendingRanges(scan),
      missedRanges: [],
      isComplete: false,
    } satisfies Partial<PageBatch>
    if (next.timestampCollisions.length === 0) {
      yield* splitPage(reply, batch, unfinished)
    } else {
      // The pending ranges advance only after the timestamp collision has been read part by part.
      yield* splitPage(reply, { ...batch, ...unfinished }, unfinished)
      const missedRanges = [...next.missingRanges]
      for (const second of next.timestampCollisions) {
        const isComplete = yield* readCollision(get, scan, next.state.profile, second, priority)
        if (!isComplete) missedRanges.push({ range: { lo: second, hi: second }, reason: gapReasons.timestampCollision })
      }
      yield { ...batch, answer: null, observations: [], missedRanges }
    }
    reportedProfile = next.state.profile
    scan = next.state
  }
}

/** The rows of an answer, batch by batch; ranges and observations come with the last batch. */
function* splitPage(reply: PageReply, batch: PageBatch, unfinished: Partial<PageBatch>): Generator<PageBatch> {
  if (reply.kind === 'refused') return yield batch
  let previous: PageBatch | null = null
  for (const { items, refused } of reply.items.batches()) {
    if (previous !== null) yield { ...previous, ...unfinished, observations: [], isLastOfAnswer: false }
    previous = { ...batch, items, refused }
  }
  yield previous ?? batch
}

/** Requests one more row where the page alone does not prove that the range starts there. */
async function runStartCheck(
  get: ApiGet,
  scan: ScanState,
  timeBounds: TimeBounds,
  page: ScanPage,
  priority: Priority,
): Promise<ScanState> {
  const checkRequest = startCheckFor(scan, timeBounds, page)
  if (checkRequest === null) return scan
  const checkReply = await requestPage(get, scan, checkRequest, {}, priority, 1)
  return applyStartCheck(scan, timeBounds, page, checkReply.kind === 'page' ? checkReply.page : null)
}

/** Reads each partition of the list at a timestamp collision. True if they showed all rows of the second. */
async function* readCollision(
  get: ApiGet,
  scan: ScanState,
  profile: PagingProfile,
  second: Seconds,
  priority: Priority,
): AsyncGenerator<PageBatch, boolean> {
  const { inclusiveBounds, order } = profile
  const isAscending = scan.rangeScan?.direction !== 'down'
  const timeBounds: TimeBounds = isAscending
    ? { lower: inclusiveBounds.up === false ? second - 1 : second }
    : { upper: inclusiveBounds.down === false ? second + 1 : second }
  const [field = ''] = order?.fields ?? []
  let isComplete = scan.list.partitions.length > 0
  for (const part of scan.list.partitions) {
    const reply = await requestPage(get, scan, timeBounds, part, priority)
    if (reply.kind === 'refused') return false
    const { answer, page } = reply
    const reachesBeyond = page.times.some((row) => (row.get(field) ?? second) !== second)
    isComplete &&= reachesBeyond || !(page.hasMore || page.ids.length >= maxPageSize)
    const unfinished = {
      pendingRanges: pendingRanges(scan),
      missedRanges: [],
      isComplete: false,
    } satisfies Partial<PageBatch>
    const futureDatedIds = findFutureDated(order, page)
    yield* splitPage(
      reply,
      { ...emptyBatch, answer, observations: [], profile, futureDatedIds, ...unfinished },
      unfinished,
    )
  }
  return isComplete
}

const emptyBatch = { items: [], refused: [], isLastOfAnswer: true } satisfies Partial<PageBatch>

function toPageBatch(
  list: ListEndpoint,
  reportedProfile: PagingProfile,
  next: ScanStep,
  reply: PageReply,
  timeBounds: TimeBounds,
): PageBatch {
  const since = timeBounds.lower === undefined ? '' : ` from ${rfc3339(timeBounds.lower)}`
  const until = timeBounds.upper === undefined ? '' : ` to ${rfc3339(timeBounds.upper)}`
  const answer = reply.kind === 'page' ? reply.answer : null
  const what = reply.kind === 'page' ? `a page of ${reply.items.count} rows` : 'a 400'
  const evidence = `${what}${since}${until}, request ${answer?.requestId ?? 'without id'}`
  const newObservations = observations(list, reportedProfile, next.state.profile, evidence)
  const { state: scan, missingRanges: missedRanges } = next
  const futureDatedIds = reply.kind === 'page' ? findFutureDated(scan.profile.order, reply.page) : []
  return {
    ...emptyBatch,
    answer,
    pendingRanges: pendingRanges(scan),
    missedRanges,
    observations: newObservations,
    profile: scan.profile,
    futureDatedIds,
    isComplete: scan.currentRange === null,
  }
}
