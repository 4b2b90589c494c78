/** Reads a list page by page: sends the requests of a scan and yields the rows. The scan is its only state. */

import { ApiError } from '../core/api-failure.ts'
import type { ApiGet, ApiResponse, ListItems, QueryParams } from '../core/api-request.ts'
import { type ListEndpoint, maxPageSize } from '../core/pagination/list-endpoint.ts'
import { fillMissingTimes } from '../core/pagination/missing-times.ts'
import { findFutureDated, type ScanPage } from '../core/pagination/page-evidence.ts'
import { observations, type PagingProfile } from '../core/pagination/paging-profile.ts'
import type { TimeRange } from '../core/pagination/pending-ranges.ts'
import {
  applyPage,
  applyRefusal,
  nextRequest,
  pendingRanges,
  type RefusedParameter,
  startScan,
} from '../core/pagination/scan.ts'
import { gapReasons, type ScanState, type ScanStep } from '../core/pagination/scan-state.ts'
import type { RowTimes, TimeBounds } from '../core/pagination/sort-order.ts'
import { applyStartCheck, startCheckFor } from '../core/pagination/start-check.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Json, RefusedRow, ServiceBehaviour } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import { toItems } from './items.ts'

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

type PageReply =
  | { readonly kind: 'page'; readonly page: ScanPage; readonly items: ListItems; readonly answer: ApiResponse }
  | { readonly kind: 'refused'; readonly parameter: RefusedParameter }

async function requestPage(
  get: ApiGet,
  scan: ScanState,
  timeBounds: TimeBounds,
  part: QueryParams,
  priority: Priority,
  limit = maxPageSize,
): Promise<PageReply> {
  const { list, profile } = scan
  const bounds: Record<string, string> = {}
  if (list.lowerParam !== null && timeBounds.lower !== undefined) bounds[list.lowerParam] = rfc3339(timeBounds.lower)
  if (list.upperParam !== null && timeBounds.upper !== undefined) bounds[list.upperParam] = rfc3339(timeBounds.upper)
  const sent = { ...bounds, limit: profile.support.limit === 'refused' ? undefined : limit }
  try {
    const answer = await get(list.path, { ...list.query, ...part, ...sent }, priority)
    return { kind: 'page', ...parsePage(list, answer), answer }
  } catch (error) {
    const parameter = refusedParameter(error, scan, sent)
    if (parameter === null) throw error
    return { kind: 'refused', parameter }
  }
}

/** The parameter that a 400 is about; null if it is about something else. */
function refusedParameter(
  error: unknown,
  scan: ScanState,
  sent: Readonly<Record<string, unknown>>,
): RefusedParameter | null {
  const { list, profile, rangeScan } = scan
  if (!(error instanceof ApiError)) return null
  const { failure } = error
  if (failure.kind !== 'refused' || failure.status !== 400) return null
  const wasSent = (name: string | null) => name !== null && sent[name] !== undefined
  if (list.isDocumented)
    return list.upperParam !== null &&
      list.lowerParam !== null &&
      !wasSent(list.upperParam) &&
      !profile.requiresBothBounds
      ? 'open end'
      : null
  const isLimitNamed = failure.fields.some((field) => field.toLowerCase().includes('limit'))
  if (wasSent('limit') && isLimitNamed) return 'limit'
  if (rangeScan !== null && (wasSent(list.lowerParam) || wasSent(list.upperParam))) return 'bound'
  return wasSent('limit') && profile.support.limit === 'unknown' ? 'limit' : null
}

/** A documented list may hold this many times the requested limit; more is not a page. */
const maxPageFactor = 5

function parsePage(list: ListEndpoint, answer: ApiResponse): { page: ScanPage; items: ListItems } {
  const { data, status, requestId } = answer
  const body = typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, Json>) : {}
  const items = answer.items ?? toItems(Array.isArray(data) ? (data as readonly Json[]) : body.items)
  if (items === null) {
    const why = `${list.path} answered without a list of items`
    throw new ApiError({ kind: 'transient', why, mayHaveBeenSent: true, status, requestId })
  }
  if (list.isDocumented && items.count > maxPageFactor * maxPageSize) {
    const why = `${list.path} answered ${items.count} rows, where ${maxPageSize} at most were asked for`
    throw new ApiError({ kind: 'refused', status, code: `http_${status}`, why, fields: [], requestId })
  }
  return {
    page: { ...collectRows(list, items), hasMore: body.hasMore === true, cursorLimit: answer.cursorLimit },
    items,
  }
}

function collectRows(list: ListEndpoint, items: ListItems): Pick<ScanPage, 'ids' | 'times'> {
  const page = { ids: [] as string[], times: [] as RowTimes[], rows: [] as Json[] }
  for (const batch of items.batches()) {
    for (const item of batch.items) {
      page.ids.push(list.identify(item))
      page.times.push(list.times(item))
      page.rows.push(items.count > maxPageFactor * maxPageSize ? null : item)
    }
    // They were listed, so they count for the size of the page.
    for (const { id, why } of batch.refused) {
      page.ids.push(id ?? `refused: ${why}`)
      page.times.push(new Map())
      page.rows.push(null)
    }
  }
  const isUnreadableTime = (row: number, field: string) =>
    (Object(page.rows[row]) as Record<string, Json>)[field] != null
  return { ids: page.ids, times: fillMissingTimes(page.times, isUnreadableTime) }
}

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
