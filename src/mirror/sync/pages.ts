/**
 * Reads a list page by page: the requests, each response with what to commit, and how it is stored.
 */
import type { Gap, RejectedRow, ServiceBehaviour } from '../../../schema/row.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { isUnreadable, throwIfAborted } from '../../service/core/api-failure.ts'
import type { ApiGet, ApiResponse, Priority } from '../../service/core/api-request.ts'
import { toItems } from '../../service/envelope.ts'
import { pluralize } from '../../values/format.ts'
import { type Json, parseJson, stringifyJson } from '../../values/json.ts'
import type { Kept } from '../../values/private-columns.ts'
import { rfc3339 } from '../../values/time.ts'
import type { ParsedRows } from '../core/item-fields.ts'
import type { CommitResult, MirrorCommit } from '../core/mirror.ts'
import { farFuture, type PendingRanges } from '../core/pagination/list-cursor.ts'
import { findFutureDated } from '../core/pagination/page-evidence.ts'
import {
  hasMoreIn,
  itemsIn,
  refusedParameter,
  requirePage,
  toParameters,
  toScanPage,
} from '../core/pagination/page-protocol.ts'
import {
  decodeProfile,
  emptyProfile,
  isBehaviourChange,
  isHasMoreKnownUnreliable,
  type ListEndpoint,
  mergeProfiles,
  type PagingProfile,
  resetUnsupported,
  toForgotten,
  toObservations,
  unknownValue,
} from '../core/pagination/paging-profile.ts'
import { readRanges } from '../core/pagination/read-ranges.ts'
import {
  gapReasons,
  type MissedRange,
  type PageRequest,
  type PassedPlace,
  type Progress,
  type RangesToRead,
  startTests,
  type UnreadablePlace,
} from '../core/pagination/reading-state.ts'
import { recordFutureDated, type SyncRun } from './run.ts'

export type ListScan = Pick<RangesToRead, 'list' | 'ranges'> & {
  readonly priority: Priority
  readonly stream: StreamName
  /** A reconcile that goes on does not ask again for what it has learned. */
  readonly isContinued?: boolean
}

/** The pages of a list. The caller commits each page before it takes the next one. */
export async function* readPages(run: SyncRun, scan: ListScan): AsyncGenerator<PageBatch<Kept>> {
  const { stream, list, ranges, priority } = scan
  const profile = await loadProfile(run, scan)
  const isList = streamSpecs[stream].kind === 'list'
  // Null: `recordEmptyLists` decides, when all lists have been read.
  const ifNotKnown = isList ? null : true
  const isHasMoreReliableIfEmpty = isHasMoreUnreliable(run) ? false : ifNotKnown
  const { localTime, serviceTime } = run.clocks()
  const now = Math.max(localTime, serviceTime)
  const known = isList ? await readPlaces(run, scan) : noPlaces
  const testedPages = run.testedPages.get(list.name) ?? startTests(profile)
  run.testedPages.set(list.name, testedPages)
  const options = {
    list,
    profile,
    ranges,
    priority,
    isHasMoreReliableIfEmpty,
    testedPages,
    now,
    oldestSeen: (await readOldestSeen(run, scan)) ?? now,
    ...known,
  }
  for await (const batch of readList((...request) => run.get(stream, ...request), options)) {
    if (batch.observations.length > 0) {
      run.profiles.set(
        list.name,
        mergeProfiles(run.profiles.get(list.name) ?? profile, batch.profile),
      )
      reportObservations(run, stream, batch.observations)
    }
    recordFutureDated(run, stream, batch.futureDatedIds)
    const isEmpty =
      batch.isLastOfResponse && batch.items.length === 0 && batch.rejectedRows.length === 0
    if (isList && isEmpty && isHasMoreSet(batch)) run.emptyListsWithMore.add(stream)
    yield batch
    throwIfAborted(run.signal)
    const { isComplete, passedPlaces } = batch
    if (isList && isComplete && known.knownPlaces.length + passedPlaces.length > 0)
      await run.mirror.writeCursor(placesCursor(scan), stringifyJson(passedPlaces))
  }
}

/** Of calls, the only list whose windows may be limited. Null: nothing shows it. */
async function readOldestSeen({ mirror }: SyncRun, { stream, ranges }: ListScan) {
  const { hi = null } = ranges.find(({ lo }) => lo === 0) ?? {}
  return stream === 'calls' && hi !== null ? mirror.nextCallTime(hi) : null
}

const noPlaces = { knownPlaces: [], expectedPlaces: [] }

/** Where open gaps tell of rows that cannot be read, and which of them this list has. */
async function readPlaces(run: SyncRun, scan: ListScan) {
  const gaps = await run.mirror.listOpenGaps(scan.stream)
  const knownPlaces = gaps.flatMap(({ from, to, reason, dedupKey: key = '' }) =>
    reason === gapReasons.unreadable ? [{ lo: from ?? 0, hi: to ?? farFuture, key }] : [],
  )
  if (knownPlaces.length === 0) return noPlaces
  const stored = parseJson((await run.mirror.readCursor(placesCursor(scan))) ?? '[]')
  const passed = (stored as readonly PassedPlace[]).filter(({ key }) =>
    knownPlaces.some((place) => place.key === key),
  )
  const isFirst = passed.length === 0 && scan.list.query.handled === false
  return { knownPlaces, expectedPlaces: isFirst ? await estimatePlaces(run, knownPlaces) : passed }
}

/** By the open conversations that are mirrored. */
async function estimatePlaces({ mirror }: SyncRun, places: readonly UnreadablePlace[]) {
  const expected: PassedPlace[] = []
  let counted = 0
  for (const { lo, key } of places.toSorted((a, b) => a.lo - b.lo)) {
    const count = await mirror.countOpenUntil(lo)
    expected.push({ key, rowsBefore: count - counted })
    counted = count
  }
  return expected
}

const placesCursor = ({ stream, list }: ListScan) =>
  [stream, 'unreadable', ...Object.values(list.query)].join(':')

/** Stores the rows of a page with what else it shows, and counts them. */
export async function commitPage(
  run: SyncRun,
  stream: StreamName,
  batch: PageBatch,
  { rows, rejectedRows }: ParsedRows,
  more: Partial<MirrorCommit> = {},
): Promise<CommitResult> {
  const result = await run.mirror.commit({
    stream,
    rows,
    rejectedRows: [...batch.rejectedRows, ...rejectedRows],
    requestedAt: batch.response?.requestedAt ?? run.now(),
    ...more,
    observations: [...batch.observations, ...(more.observations ?? [])],
  })
  remember(run, batch.observations)
  remember(run, more.observations)
  run.stats.recordPage(stream, rows.length, result)
  return result
}

/** Stores what is known of a stream apart from its rows. */
export async function commitWithoutRows(
  run: SyncRun,
  stream: StreamName,
  found: Partial<MirrorCommit>,
): Promise<void> {
  await run.mirror.commit({ stream, rows: [], requestedAt: run.now(), ...found })
  remember(run, found.observations)
}

function remember(
  { behaviours }: Pick<SyncRun, 'behaviours'>,
  stored: readonly ServiceBehaviour[] = [],
): void {
  for (const { name, value } of stored) behaviours.set(name, value)
}

/** Of any list, also one that this run has read. */
export function isHasMoreUnreliable({ profiles, behaviours }: SyncRun): boolean {
  for (const { isHasMoreReliableIfShort } of profiles.values())
    if (isHasMoreReliableIfShort === false) return true
  return isHasMoreKnownUnreliable(behaviours)
}

export function isHasMoreSet({ response }: Pick<PageBatch, 'response'>): boolean {
  return hasMoreIn(response?.data)
}

/** A reconcile learns anew what an earlier observation may have got wrong. */
async function loadProfile(
  run: SyncRun,
  { stream, list, isContinued = false }: ListScan,
): Promise<PagingProfile> {
  const cached = run.profiles.get(list.name)
  if (cached !== undefined) return cached
  const stored = decodeProfile(list, run.behaviours)
  const profile =
    run.mode === 'incremental' || isContinued ? stored : resetUnsupported(list, stored)
  run.profiles.set(list.name, profile)
  // Stored, as what was learned against the service holds for later runs, too.
  const observations = toForgotten(list, stored, {
    ...profile,
    order: stored.order,
    ways: stored.ways,
  })
  for (const { name } of observations)
    run.forgotten.set(name, run.behaviours.get(name) ?? unknownValue)
  if (observations.length > 0) await commitWithoutRows(run, stream, { observations })
  return profile
}

function reportObservations(
  run: SyncRun,
  stream: StreamName,
  observations: readonly ServiceBehaviour[],
): void {
  for (const { name, value, evidence } of observations) {
    const stored = run.behaviours.get(name)
    const was = stored === unknownValue ? run.forgotten.get(name) : stored
    if (was === undefined || !isBehaviourChange(was, value)) {
      run.learned.set(name, { stream, was: run.learned.get(name)?.was ?? was, value })
    } else {
      run.log.warn({ event: 'behaviour.changed', stream, name, value, was })
      run.notices.add(
        `The service's behaviour changed: ${name} was "${was}" and is ` +
          `now "${value}" (${evidence}).`,
      )
    }
  }
}

/**
 * When a stream has been read: until then each page may settle more of it, and a log that shows every
 * step is a log that nobody reads.
 */
export function reportLearned({ learned, log }: SyncRun, of: StreamName): void {
  for (const [name, { stream, was, value }] of learned) {
    if (stream !== of) continue
    learned.delete(name)
    if (value !== was) log.info({ event: 'behaviour.learned', stream, name, value })
  }
}

export function toGaps(stream: StreamName, batch: PageBatch): Gap[] {
  return batch.missedRanges.map(({ range: { lo, hi }, reason, key }) => ({
    stream,
    from: lo || null,
    to: hi,
    reason,
    dedupKey: key,
  }))
}

/** A response, or a part of one: a reading that stops after it continues from `pendingRanges`. */
export type PageBatch<Item extends Json = Json> = {
  readonly items: readonly Item[]
  /** Rows that are too large to be parsed. */
  readonly rejectedRows: readonly RejectedRow[]
  /** Whether these are the last rows of their response: a large one is yielded in parts. */
  readonly isLastOfResponse: boolean
  /** Null if the service refused the request. */
  readonly response: ApiResponse<Item> | null
  /** All that this run or the next must still read, and prove. */
  readonly pendingRanges: PendingRanges
  readonly missedRanges: readonly MissedRange[]
  /** Where rows that cannot be read were passed so far. */
  readonly passedPlaces: readonly PassedPlace[]
  readonly observations: readonly ServiceBehaviour[]
  readonly profile: PagingProfile
  /** The ids of rows that are dated ahead of the clocks. */
  readonly futureDatedIds: readonly string[]
  readonly isComplete: boolean
}

/** Every page of the ranges, in an order that the service decides. Throws ApiError. */
export async function* readList<Item extends Json>(
  get: ApiGet<Item>,
  options: RangesToRead & { readonly priority: Priority },
): AsyncGenerator<PageBatch<Item>> {
  const { list, priority, now = Math.floor(Date.now() / 1000) } = options
  const reading = readRanges({ ...options, now })
  let profile = options.profile ?? emptyProfile(list)
  let hasPage = false
  let step = reading.next()
  // No request leads anywhere, which is to be stored, too.
  if (step.done) return yield { ...withoutRows, ...step.value, observations: [], isComplete: true }
  const { progress } = step.value
  let pending = progress.pendingRanges
  if (progress.missedRanges.length > 0)
    yield { ...withoutRows, ...progress, observations: [], isComplete: false }
  while (!step.done) {
    const request: PageRequest = step.value
    const reply = await requestPage(get, list, request, priority)
    hasPage ||= reply.kind === 'page'
    step = reading.next(reply)
    // Refused whatever is asked for, so it is not about a parameter.
    if (step.done && reply.kind !== 'page' && !hasPage) throw reply.error
    const after: Progress = step.done ? step.value : step.value.progress
    const observations = toObservations(list, profile, after.profile, evidenceOf(request, reply))
    yield* splitPage(reply, { ...after, observations, isComplete: step.done === true }, pending)
    profile = after.profile
    pending = after.pendingRanges
  }
}

/** The rows of a response, batch by batch; the progress that it made comes with the last one. */
function* splitPage<Item extends Json>(
  reply: PageReply<Item>,
  after: Progress & Pick<PageBatch, 'observations' | 'isComplete'>,
  pendingBefore: PendingRanges,
): Generator<PageBatch<Item>> {
  if (reply.kind !== 'page') return yield { ...withoutRows, ...after }
  const { response, page, items } = reply
  const whole = {
    ...withoutRows,
    ...after,
    response,
    futureDatedIds: findFutureDated(after.profile.order, page),
  }
  let previous: PageBatch<Item> | null = null
  for (const rows of items.batches()) {
    if (previous !== null) yield { ...previous, ...unfinished, pendingRanges: pendingBefore }
    previous = { ...whole, ...rows }
  }
  yield previous ?? whole
}

const withoutRows = {
  items: [],
  rejectedRows: [],
  response: null,
  isLastOfResponse: true,
  futureDatedIds: [],
}

const unfinished = {
  isLastOfResponse: false,
  isComplete: false,
  missedRanges: [],
  observations: [],
}

function evidenceOf({ bounds, limit }: PageRequest, reply: PageReply<Json>): string {
  const since = bounds.lower === undefined ? '' : ` from ${rfc3339(bounds.lower)}`
  const until = bounds.upper === undefined ? '' : ` to ${rfc3339(bounds.upper)}`
  const size = limit === null ? '' : ` with limit ${limit}`
  const what = reply.kind === 'page' ? `a page of ${pluralize(reply.items.count, 'row')}` : 'a 400'
  const requestId = reply.kind === 'page' ? reply.response.requestId : null
  return `${what}${since}${until}${size}, request ${requestId ?? 'without id'}`
}

type PageReply<Item extends Json> = Awaited<ReturnType<typeof requestPage<Item>>>

/** Requests one page. Throws ApiError. */
async function requestPage<Item extends Json>(
  get: ApiGet<Item>,
  list: ListEndpoint,
  request: PageRequest,
  priority: Priority,
) {
  const { profile } = request.progress
  const sent = toParameters(list, request, profile)
  try {
    const response = await get(list.path, { ...list.query, ...request.part, ...sent }, priority)
    const items = response.items ?? toItems(itemsIn(response.data))
    requirePage(list, response, items)
    return { kind: 'page' as const, page: toScanPage(list, response, items), items, response }
  } catch (error) {
    if (isUnreadable(error)) return { kind: 'unreadable' as const, error }
    const parameter = refusedParameter(error, list, profile, sent)
    if (parameter === null) throw error
    return { kind: 'refused' as const, parameter, error }
  }
}
