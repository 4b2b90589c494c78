/** Reads a list page by page: sends the requests of a scan and yields the rows. The scan is its only state. */
import type { ApiGet, ApiResponse } from '../core/api-request.ts'
import { type ListEndpoint, maxPageSize } from '../core/pagination/list-endpoint.ts'
import { findFutureDated } from '../core/pagination/page-evidence.ts'
import { type PagingProfile, toObservations } from '../core/pagination/paging-profile.ts'
import type { PendingRanges } from '../core/pagination/pending-ranges.ts'
import { applyPage, applyRefusal, nextRequest, pendingRanges, startScan } from '../core/pagination/scan.ts'
import { type ActiveScan, isActive, type MissedRange, type ScanState, toGap } from '../core/pagination/scan-state.ts'
import type { TimeBounds } from '../core/pagination/sort-order.ts'
import { applyStartCheck, startCheckFor } from '../core/pagination/start-check.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Json, RejectedRow, ServiceBehaviour } from '../core/row.ts'
import { type EpochSeconds, rfc3339 } from '../core/time.ts'
import { type PageReply, requestPage } from './page-request.ts'

/** A response, or a part of one. Store all of it: a scan that stops after it continues from `pendingRanges`. */
export type PageBatch = {
  readonly items: readonly Json[]
  /** Rows that are too large to be parsed. */
  readonly rejectedRows: readonly RejectedRow[]
  /** Whether these are the last rows of their response: a large one is yielded in parts. */
  readonly isLastOfResponse: boolean
  /** Null if there is none: the service refused the request, or its response was yielded before. */
  readonly response: ApiResponse | null
  /** The ranges that this scan or the next must still read. */
  readonly pendingRanges: PendingRanges
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
  readonly ranges: PendingRanges
  readonly priority: Priority
  /** False: the service reports more rows even after the last page; null = not known yet. */
  readonly isHasMoreReliableIfEmpty?: boolean | null
}

/** Every page of the ranges, in an order that the service decides. Throws ApiError. */
export async function* readList(get: ApiGet, options: ListReadOptions): AsyncGenerator<PageBatch> {
  const { list, profile, ranges, priority, isHasMoreReliableIfEmpty } = options
  let scan = startScan(list, profile, ranges, isHasMoreReliableIfEmpty)
  while (isActive(scan)) {
    const bounds = nextRequest(scan)
    const reply = await requestPage(get, scan, bounds, {}, priority)
    const next = await applyReply(get, scan, reply, bounds, priority)
    const { state, timestampCollisions } = next
    const batch = { ...toPageBatch(scan, state, reply, bounds), ...progressOf(state, next.missedRanges) }
    const unfinished = progressOf(scan)
    if (timestampCollisions.length === 0) {
      yield* splitPage(reply, batch, unfinished)
    } else {
      // The pending ranges advance only after the timestamp collision has been read part by part.
      yield* splitPage(reply, { ...batch, ...unfinished }, unfinished)
      const missedRanges = [...next.missedRanges]
      for (const second of timestampCollisions) {
        const isComplete = yield* readCollision(get, scan, state.profile, second, priority)
        if (!isComplete) missedRanges.push(toGap({ lo: second, hi: second }, 'timestampCollision'))
      }
      yield { ...batch, response: null, observations: [], missedRanges }
    }
    scan = state
  }
}

type Progress = Pick<PageBatch, 'pendingRanges' | 'missedRanges' | 'isComplete'>

function progressOf(scan: ScanState, missedRanges: readonly MissedRange[] = []): Progress {
  return { pendingRanges: pendingRanges(scan), missedRanges, isComplete: !isActive(scan) }
}

/** The rows of a response, batch by batch; ranges and observations come with the last batch. */
function* splitPage(reply: PageReply, batch: PageBatch, unfinished: Progress): Generator<PageBatch> {
  if (reply.kind === 'refused') return yield batch
  let previous: PageBatch | null = null
  for (const { items, rejectedRows } of reply.items.batches()) {
    if (previous !== null) yield { ...previous, ...unfinished, observations: [], isLastOfResponse: false }
    previous = { ...batch, items, rejectedRows }
  }
  yield previous ?? batch
}

/** If the page does not show from which end of the range it comes, first repeats its request with `limit` 1. */
async function applyReply(get: ApiGet, scan: ActiveScan, reply: PageReply, bounds: TimeBounds, priority: Priority) {
  if (reply.kind === 'refused') return applyRefusal(scan, reply.parameter)
  const query = { page: reply.page, bounds }
  const checkRequest = startCheckFor(scan, query)
  if (checkRequest === null) return applyPage(scan, query)
  const checkReply = await requestPage(get, scan, checkRequest, {}, priority, 1)
  return applyPage(applyStartCheck(scan, query, checkReply.kind === 'page' ? checkReply.page : null), query)
}

/** Reads each partition of the list at a timestamp collision. True if they showed all rows of the second. */
async function* readCollision(
  get: ApiGet,
  scan: ActiveScan,
  profile: PagingProfile,
  second: EpochSeconds,
  priority: Priority,
): AsyncGenerator<PageBatch, boolean> {
  const { inclusiveBounds, order } = profile
  const isAscending = scan.phase.name === 'opening' || scan.phase.rangeScan.direction === 'forward'
  const bounds: TimeBounds = isAscending
    ? { lower: inclusiveBounds.lower === false ? second - 1 : second }
    : { upper: inclusiveBounds.upper === false ? second + 1 : second }
  const [field = ''] = order?.fields ?? []
  const unfinished = progressOf(scan)
  let isComplete = scan.list.partitions.length > 0
  for (const part of scan.list.partitions) {
    const reply = await requestPage(get, scan, bounds, part, priority)
    if (reply.kind === 'refused') return false
    const { response, page } = reply
    const reachesBeyond = page.times.some((row) => (row.get(field) ?? second) !== second)
    isComplete &&= reachesBeyond || !(page.hasMore || page.ids.length >= maxPageSize)
    const futureDatedIds = findFutureDated(order, page)
    const batch = { ...emptyBatch, response, observations: [], profile, futureDatedIds, ...unfinished }
    yield* splitPage(reply, batch, unfinished)
  }
  return isComplete
}

const emptyBatch = { items: [], rejectedRows: [], isLastOfResponse: true } satisfies Partial<PageBatch>

function toPageBatch(before: ActiveScan, { list, profile }: ScanState, reply: PageReply, bounds: TimeBounds) {
  const since = bounds.lower === undefined ? '' : ` from ${rfc3339(bounds.lower)}`
  const until = bounds.upper === undefined ? '' : ` to ${rfc3339(bounds.upper)}`
  const response = reply.kind === 'page' ? reply.response : null
  const what = reply.kind === 'page' ? `a page of ${reply.items.count} rows` : 'a 400'
  const evidence = `${what}${since}${until}, request ${response?.requestId ?? 'without id'}`
  return {
    ...emptyBatch,
    response,
    observations: toObservations(list, before.profile, profile, evidence),
    profile,
    futureDatedIds: reply.kind === 'page' ? findFutureDated(profile.order, reply.page) : [],
  }
}
