/**
 * Lists of a few rows in pages of two, with every paging behaviour that the documentation leaves
 * open, without I/O.
 */

import {
  allTime,
  formatPendingRanges,
  type PendingRanges,
  parsePendingRanges,
} from '../../../../src/mirror/core/pagination/list-cursor.ts'
import type { ScanPage } from '../../../../src/mirror/core/pagination/page-protocol.ts'
import type {
  ListEndpoint,
  PagingProfile,
} from '../../../../src/mirror/core/pagination/paging-profile.ts'
import { readRanges } from '../../../../src/mirror/core/pagination/read-ranges.ts'
import type {
  MissedRange,
  PageReply,
  PageRequest,
} from '../../../../src/mirror/core/pagination/reading-state.ts'
import type { RowTimes } from '../../../../src/mirror/core/pagination/sort-order.ts'

/** `other`: a second time, which does not sort the list. */
export type Row = { readonly id: string; readonly at: number | null; readonly other?: number }

export type Behaviour = {
  readonly list: keyof typeof lists
  readonly lower: 'inclusive' | 'exclusive' | 'ignored' | 'refused'
  readonly upper: 'inclusive' | 'exclusive' | 'ignored' | 'refused'
  /** The end from which a page is taken, with a bound and without. */
  readonly from: 'oldest' | 'newest'
  readonly unbounded: 'oldest' | 'newest'
  readonly shown: 'as taken' | 'reversed'
  readonly hasMore: 'exact' | 'always' | 'never'
  readonly limit: 'honoured' | 'ignored'
  /** Where rows without a time are sorted. A request with a bound leaves them out. */
  readonly nulls: 'oldest' | 'newest'
}

const pageSize = 2

const endpoint = (
  lowerParam: string | null,
  upperParam: string | null,
  isDocumented: boolean,
): ListEndpoint => ({
  name: 'things',
  path: '/things',
  query: {},
  lowerParam,
  upperParam,
  isDocumented,
  partitions: [],
  pageSizes: { most: pageSize, usual: pageSize },
  identify: String,
  times: () => new Map(),
})

export const lists = {
  since: endpoint('since', null, true),
  'from and to': endpoint('from', 'to', true),
  before: endpoint(null, 'before', true),
  undocumented: endpoint('since', 'before', false),
} as const

const timesOf = new Map<string, RowTimes>()

function toTimes({ at, other }: Row): RowTimes {
  return memoized(timesOf, `${at} ${other}`, () => {
    const times = new Map<string, number>()
    if (at !== null) times.set('at', at)
    if (other !== undefined) times.set('other', other)
    return times
  })
}

/** No row is ahead of the clocks. */
const cursorLimit = 9_999_999_999

type Asked = Pick<PageRequest, 'bounds' | 'limit'>

/** What decides about a page, and all that does. */
function toPageQuery(behaviour: Behaviour, { bounds: { lower, upper }, limit }: Asked) {
  const isUnbounded = lower === undefined && upper === undefined
  const from =
    lower === undefined || behaviour.lower === 'ignored'
      ? null
      : lower + Number(behaviour.lower === 'exclusive')
  const to =
    upper === undefined || behaviour.upper === 'ignored'
      ? null
      : upper - Number(behaviour.upper === 'exclusive')
  const isFromNewest = (isUnbounded ? behaviour.unbounded : behaviour.from) === 'newest'
  const size = behaviour.limit === 'honoured' ? (limit ?? pageSize) : pageSize
  return { from, to: to === null ? null : Math.max(0, Math.min(to, latest)), isFromNewest, size }
}

/** After all rows. */
const latest = 4000

function selectPage(
  rows: readonly Row[],
  behaviour: Behaviour,
  query: ReturnType<typeof toPageQuery>,
): ScanPage {
  const { from, to, isFromNewest, size } = query
  const matching = rows.filter(({ at }) =>
    at === null ? from === null && to === null : at >= (from ?? at) && at <= (to ?? at),
  )
  const nullsAt = behaviour.nulls === 'oldest' ? -1 : latest
  matching.sort((a, b) => (a.at ?? nullsAt) - (b.at ?? nullsAt) || (a.id < b.id ? -1 : 1))
  if (isFromNewest) matching.reverse()
  const taken = matching.slice(0, size)
  if (behaviour.shown === 'reversed') taken.reverse()
  return {
    ids: taken.map(({ id }) => id),
    times: taken.map(toTimes),
    hasMore:
      behaviour.hasMore === 'exact' ? matching.length > size : behaviour.hasMore === 'always',
    cursorLimit,
  }
}

const refusals = {
  missing: { kind: 'refused', parameter: 'missing bound' },
  unknown: { kind: 'refused', parameter: 'bound' },
} as const satisfies Record<string, PageReply>

export type ListServer = (rows: readonly Row[], behaviour: Behaviour, request: Asked) => PageReply

/** Equal replies are one object. */
export function createServer(): ListServer {
  const pages = new Map<string, PageReply>()
  const repliesByRows = new Map<readonly Row[], Map<number, PageReply>>()
  return (rows, behaviour, request) => {
    const { lower, upper } = request.bounds
    const isRefused =
      (lower !== undefined && behaviour.lower === 'refused') ||
      (upper !== undefined && behaviour.upper === 'refused')
    if (isRefused) return lists[behaviour.list].isDocumented ? refusals.missing : refusals.unknown
    const replies = memoized(repliesByRows, rows, () => new Map<number, PageReply>())
    const query = toPageQuery(behaviour, request)
    return memoized(replies, encodeQuery(behaviour, query), () => {
      const page = selectPage(rows, behaviour, query)
      const text = `${page.ids} ${page.times.map((times) => [...times].join())} ${page.hasMore}`
      return memoized(pages, text, () => ({ kind: 'page', page }))
    })
  }
}

const hasMoreKinds = ['exact', 'always', 'never'] as const

function encodeQuery(
  behaviour: Behaviour,
  { from, to, isFromNewest, size }: ReturnType<typeof toPageQuery>,
): number {
  const times = ((from ?? -1) + 1) * (latest + 2) + (to ?? -1) + 1
  const ends = times * 4 + Number(isFromNewest) * 2 + Number(behaviour.nulls === 'newest')
  const shown = ends * 2 + Number(behaviour.shown === 'reversed')
  return (shown * (pageSize + 1) + size) * 3 + hasMoreKinds.indexOf(behaviour.hasMore)
}

function memoized<Key, Value>(
  values: Pick<Map<Key, Value>, 'get' | 'set'>,
  key: Key,
  compute: () => Value,
): Value {
  const known = values.get(key)
  if (known !== undefined) return known
  const value = compute()
  values.set(key, value)
  return value
}

/**
 * After a response of a run: what its responses have shown so far, and what the next run depends
 * on.
 */
export type Committed = {
  readonly ids: ReadonlySet<string>
  readonly gaps: readonly MissedRange[]
  readonly profile: PagingProfile | null
  readonly pending: PendingRanges
  readonly requests: number
  /** After the response before it. */
  readonly before: Committed | null
}

type Reading = ReturnType<typeof readRanges>

/** A state of a run. What follows depends on the replies only, and is computed once for each. */
type State = {
  readonly committed: Committed
  readonly request: PageRequest | null
  /** The reply that led here. */
  readonly reply: PageReply | null
  readonly previous: State | null
  readonly next: Map<PageReply, State>
  /** The reading, unless it has gone on. */
  reading: Reading | null
}

/**
 * `rowsAt`: the rows when a request arrives. `after`: the run continues from there, or, `isWhole`,
 * reads the list anew with what was learned.
 */
type Run = {
  readonly rowsAt: (request: number) => readonly Row[]
  readonly after?: Committed
  readonly isWhole?: boolean
}

const maxRequests = 80

/** Runs that share what is the same. Each returns what it has committed last. */
export function createRuns(server: ListServer): (behaviour: Behaviour, run: Run) => Committed {
  const fromText = new Map<string, State>()
  const kinds = new Map<number, { readonly continued: Map<unknown, State> }>()
  return (behaviour, { rowsAt, after, isWhole = false }) => {
    const isHasMoreReliableIfEmpty = behaviour.hasMore !== 'always'
    const kind = listNames.indexOf(behaviour.list) * 2 + Number(isHasMoreReliableIfEmpty)
    const { continued } = memoized(kinds, kind, () => ({ continued: new Map<unknown, State>() }))
    const begin = () => {
      const cursor = after === undefined || isWhole ? '' : formatPendingRanges(after.pending)
      const ranges = parsePendingRanges(cursor, allTime)
      const profile = after?.profile ?? null
      return {
        cursor,
        reading: readRanges({
          list: lists[behaviour.list],
          profile,
          ranges,
          isHasMoreReliableIfEmpty,
        }),
      }
    }
    let state = memoized(continued, isWhole ? after?.profile : after, () => {
      const { cursor, reading } = begin()
      return memoized(fromText, `${kind} ${cursor} ${JSON.stringify(after?.profile)}`, () =>
        firstState(reading),
      )
    })
    while (state.request !== null) {
      const { requests } = state.committed
      if (requests > maxRequests) throw new Error('the reading does not end')
      const reply = server(rowsAt(requests + 1), behaviour, state.request)
      const from = state
      state = state.next.get(reply) ?? goOn(from, reply, () => replay(begin().reading, from))
    }
    return state.committed
  }
}

const listNames = Object.keys(lists) as (keyof typeof lists)[]

/** The reading in this state. */
function replay(reading: Reading, { previous, reply }: State): Reading {
  if (previous === null || reply === null) reading.next()
  else replay(reading, previous).next(reply)
  return reading
}

const nothing: Committed = {
  ids: new Set(),
  gaps: [],
  profile: null,
  pending: [],
  requests: 0,
  before: null,
}

function firstState(reading: Reading): State {
  const { done, value } = reading.next()
  const { missedRanges, pendingRanges, profile } = done ? value : value.progress
  // A gap that is known before the first request is committed before it.
  const isCommitted = done === true || missedRanges.length > 0
  const committed = isCommitted
    ? { ...nothing, gaps: missedRanges, pending: pendingRanges, profile }
    : nothing
  return {
    committed,
    request: done ? null : value,
    reply: null,
    previous: null,
    next: new Map(),
    reading,
  }
}

function goOn(previous: State, reply: PageReply, repeat: () => Reading): State {
  const reading = previous.reading ?? repeat()
  previous.reading = null
  const { done, value } = reading.next(reply)
  const { missedRanges, pendingRanges, profile } = done ? value : value.progress
  const before = previous.committed
  const committed: Committed = {
    ids: reply.kind === 'page' ? new Set([...before.ids, ...reply.page.ids]) : before.ids,
    gaps: [...before.gaps, ...missedRanges],
    profile,
    pending: pendingRanges,
    requests: before.requests + 1,
    before: before === nothing ? null : before,
  }
  const state = {
    committed,
    request: done ? null : value,
    reply,
    previous,
    next: new Map(),
    reading: done ? null : reading,
  }
  previous.next.set(reply, state)
  return state
}

/** Rows that none of the runs has mirrored, or covers by a gap. */
export function missingRows(rows: readonly Row[], runs: readonly Committed[]): readonly Row[] {
  const isCovered = (at: number | null) =>
    runs.some(({ gaps }) =>
      gaps.some(({ range: { lo, hi } }) =>
        at === null ? lo === 0 && hi === null : at >= lo && at <= (hi ?? at),
      ),
    )
  return rows.filter(({ id, at }) => !runs.some(({ ids }) => ids.has(id)) && !isCovered(at))
}

/**
 * Every list of so many rows: each row in the same second as the one before, in the next one, or
 * later.
 */
export function* everyList(
  most: number,
  steps: readonly number[],
  least = 0,
): Generator<readonly Row[]> {
  const extend = function* (rows: readonly Row[]): Generator<readonly Row[]> {
    if (rows.length >= least) yield rows
    if (rows.length === most) return
    const last = rows.at(-1)?.at ?? 1000
    for (const step of rows.length === 0 ? [0] : steps)
      yield* extend([...rows, { id: `r${rows.length}`, at: last + step }])
  }
  yield* extend([])
}

export function* everyBehaviour(): Generator<Behaviour> {
  const bounds = ['inclusive', 'exclusive', 'ignored', 'refused'] as const
  const ends = ['oldest', 'newest'] as const
  for (const list of Object.keys(lists) as (keyof typeof lists)[]) {
    const { lowerParam, upperParam, isDocumented } = lists[list]
    // A documented bound is not refused.
    const possible = isDocumented ? bounds.slice(0, 3) : bounds
    for (const lower of lowerParam === null ? bounds.slice(0, 1) : possible)
      for (const upper of upperParam === null ? bounds.slice(0, 1) : possible)
        for (const from of ends)
          for (const unbounded of ends)
            for (const shown of ['as taken', 'reversed'] as const)
              for (const hasMore of ['exact', 'always', 'never'] as const)
                for (const limit of ['honoured', 'ignored'] as const)
                  for (const nulls of ends)
                    yield { list, lower, upper, from, unbounded, shown, hasMore, limit, nulls }
  }
}
