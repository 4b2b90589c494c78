/** Reads a list page by page: sends the requests of a reading and yields the rows, each response with what to commit. */
import type { ApiGet, ApiResponse } from '../core/api-request.ts'

import { findFutureDated } from '../core/pagination/page-evidence.ts'
import { emptyProfile, type PagingProfile, toObservations } from '../core/pagination/paging-profile.ts'
import type { PendingRanges } from '../core/pagination/pending-ranges.ts'
import { type RangesToRead, readRanges } from '../core/pagination/read-ranges.ts'
import type { MissedRange, PageRequest, Progress } from '../core/pagination/reading.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Json, RejectedRow, ServiceBehaviour } from '../core/row.ts'
import { rfc3339 } from '../core/time.ts'
import { type PageReply, requestPage } from './page-request.ts'

/** A response, or a part of one. Store all of it: a reading that stops after it continues from `pendingRanges`. */
export type PageBatch = {
  readonly items: readonly Json[]
  /** Rows that are too large to be parsed. */
  readonly rejectedRows: readonly RejectedRow[]
  /** Whether these are the last rows of their response: a large one is yielded in parts. */
  readonly isLastOfResponse: boolean
  /** Null if the service refused the request. */
  readonly response: ApiResponse | null
  /** All that this run or the next must still read, and prove. */
  readonly pendingRanges: PendingRanges
  readonly missedRanges: readonly MissedRange[]
  readonly observations: readonly ServiceBehaviour[]
  readonly profile: PagingProfile
  /** The ids of rows that are dated ahead of the clocks. */
  readonly futureDatedIds: readonly string[]
  /** All ranges have been read. */
  readonly isComplete: boolean
}

export type ListReadOptions = RangesToRead & { readonly priority: Priority }

/** Every page of the ranges, in an order that the service decides. Throws ApiError. */
export async function* readList(get: ApiGet, options: ListReadOptions): AsyncGenerator<PageBatch> {
  const { list, priority } = options
  const reading = readRanges(options)
  let profile = options.profile ?? emptyProfile(list)
  let pending = options.ranges
  let hasPage = false
  let step = reading.next()
  // No request leads anywhere, which is to be stored, too.
  if (step.done) return yield { ...withoutRows, ...step.value, observations: [], isComplete: true }
  while (!step.done) {
    const request: PageRequest = step.value
    const reply = await requestPage(get, list, request, priority)
    hasPage ||= reply.kind === 'page'
    step = reading.next(reply)
    // Refused whatever is asked for, so it is not about a parameter.
    if (step.done && reply.kind === 'refused' && !hasPage) throw reply.error
    const after: Progress = step.done ? step.value : step.value.progress
    const observations = toObservations(list, profile, after.profile, evidenceOf(request, reply))
    yield* splitPage(reply, { ...after, observations, isComplete: step.done === true }, pending)
    profile = after.profile
    pending = after.pendingRanges
  }
}

/** The rows of a response, batch by batch; the progress that it made comes with the last one. */
function* splitPage(
  reply: PageReply,
  after: Progress & Pick<PageBatch, 'observations' | 'isComplete'>,
  pendingBefore: PendingRanges,
): Generator<PageBatch> {
  if (reply.kind === 'refused') return yield { ...withoutRows, ...after }
  const { response, page, items } = reply
  const whole = { ...withoutRows, ...after, response, futureDatedIds: findFutureDated(after.profile.order, page) }
  let previous: PageBatch | null = null
  for (const rows of items.batches()) {
    if (previous !== null) yield { ...previous, ...unfinished, pendingRanges: pendingBefore }
    previous = { ...whole, ...rows }
  }
  yield previous ?? whole
}

const withoutRows = { items: [], rejectedRows: [], response: null, isLastOfResponse: true, futureDatedIds: [] }

const unfinished = { isLastOfResponse: false, isComplete: false, missedRanges: [], observations: [] }

function evidenceOf({ bounds, limit }: PageRequest, reply: PageReply): string {
  const since = bounds.lower === undefined ? '' : ` from ${rfc3339(bounds.lower)}`
  const until = bounds.upper === undefined ? '' : ` to ${rfc3339(bounds.upper)}`
  const size = limit === null ? '' : ` with limit ${limit}`
  const what = reply.kind === 'page' ? `a page of ${reply.items.count} rows` : 'a 400'
  const requestId = reply.kind === 'page' ? reply.response.requestId : null
  return `${what}${since}${until}${size}, request ${requestId ?? 'without id'}`
}
