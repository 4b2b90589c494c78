/** Lists of a few rows in pages of two, with every paging behaviour that the documentation leaves open, without I/O. */
import type { ListEndpoint } from '../../../src/core/pagination/list-endpoint.ts'
import type { ScanPage } from '../../../src/core/pagination/page-evidence.ts'
import type { PagingProfile } from '../../../src/core/pagination/paging-profile.ts'
import {
  allTime,
  formatPendingRanges,
  type PendingRanges,
  parsePendingRanges,
} from '../../../src/core/pagination/pending-ranges.ts'
import { readRanges } from '../../../src/core/pagination/read-ranges.ts'
import type { MissedRange, PageReply, PageRequest, Progress } from '../../../src/core/pagination/reading.ts'
import type { RowTimes } from '../../../src/core/pagination/sort-order.ts'

export type Row = { readonly id: string; readonly at: number | null }

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

const endpoint = (lowerParam: string | null, upperParam: string | null, isDocumented: boolean): ListEndpoint => ({
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

const timesOf = new Map<number | null, RowTimes>([[null, new Map()]])

function toTimes(at: number | null): RowTimes {
  const known = timesOf.get(at)
  if (known !== undefined) return known
  const times = new Map([['at', at ?? 0]])
  timesOf.set(at, times)
  return times
}

/** No row is ahead of the clocks. */
const cursorLimit = 9_999_999_999

export function servePage(
  rows: readonly Row[],
  behaviour: Behaviour,
  request: Pick<PageRequest, 'bounds' | 'limit'>,
): PageReply {
  const { lower, upper } = request.bounds
  const list = lists[behaviour.list]
  const isBounded = lower !== undefined || upper !== undefined
  if (lower !== undefined && behaviour.lower === 'refused') return refused(list)
  if (upper !== undefined && behaviour.upper === 'refused') return refused(list)
  const from =
    lower === undefined || behaviour.lower === 'ignored' ? null : lower + Number(behaviour.lower === 'exclusive')
  const to =
    upper === undefined || behaviour.upper === 'ignored' ? null : upper - Number(behaviour.upper === 'exclusive')
  const matching = rows.filter(({ at }) =>
    at === null ? from === null && to === null : at >= (from ?? at) && at <= (to ?? at),
  )
  const nullsAt = behaviour.nulls === 'oldest' ? -1 : Number.MAX_SAFE_INTEGER
  matching.sort((a, b) => (a.at ?? nullsAt) - (b.at ?? nullsAt) || (a.id < b.id ? -1 : 1))
  if ((isBounded ? behaviour.from : behaviour.unbounded) === 'newest') matching.reverse()
  const size = behaviour.limit === 'honoured' ? (request.limit ?? pageSize) : pageSize
  const taken = matching.slice(0, size)
  if (behaviour.shown === 'reversed') taken.reverse()
  const hasMore = behaviour.hasMore === 'exact' ? matching.length > size : behaviour.hasMore === 'always'
  const page: ScanPage = {
    ids: taken.map(({ id }) => id),
    times: taken.map(({ at }) => toTimes(at)),
    hasMore,
    cursorLimit,
  }
  return { kind: 'page', page }
}

function refused({ isDocumented }: ListEndpoint): PageReply {
  return { kind: 'refused', parameter: isDocumented ? 'missing bound' : 'bound' }
}

/** What several runs have read together. */
export type Mirror = {
  readonly ids: Set<string>
  readonly gaps: MissedRange[]
  profile: PagingProfile | null
  pending: PendingRanges
  requests: number
}

export function emptyMirror(): Mirror {
  return { ids: new Set(), gaps: [], profile: null, pending: [allTime], requests: 0 }
}

const maxRequests = 80

/**
 * One run: it commits each response with its progress, and is killed before request `killedAt`. `change`: is called before
 * each request. True if it came to its end.
 */
export function run(
  mirror: Mirror,
  behaviour: Behaviour,
  rows: () => readonly Row[],
  { killedAt = Number.POSITIVE_INFINITY, change = (_: number) => {} } = {},
): boolean {
  const list = lists[behaviour.list]
  const ranges: PendingRanges = parsePendingRanges(formatPendingRanges(mirror.pending), allTime)
  const reading = readRanges({
    list,
    profile: mirror.profile,
    ranges,
    isHasMoreReliableIfEmpty: behaviour.hasMore !== 'always',
  })
  let step = reading.next()
  for (let count = 1; !step.done; count++) {
    if (count > maxRequests) throw new Error('the reading does not end')
    if (count === killedAt) return false
    change(count)
    const reply = servePage(rows(), behaviour, step.value)
    mirror.requests += 1
    step = reading.next(reply)
    const progress: Progress = step.done ? step.value : step.value.progress
    if (reply.kind === 'page') for (const id of reply.page.ids) mirror.ids.add(id)
    mirror.gaps.push(...progress.missedRanges)
    mirror.profile = progress.profile
    mirror.pending = progress.pendingRanges
  }
  return true
}

/** Rows that are neither mirrored nor covered by a gap. */
export function missingRows(rows: readonly Row[], { ids, gaps }: Mirror): Row[] {
  const isCovered = (at: number | null) =>
    gaps.some(({ range: { lo, hi } }) => (at === null ? lo === 0 && hi === null : at >= lo && at <= (hi ?? at)))
  return rows.filter(({ id, at }) => !ids.has(id) && !isCovered(at))
}

/** Every list of up to `most` rows: each row in the same second as the one before, in the next one, or later. */
export function* everyList(most: number, steps: readonly number[]): Generator<readonly Row[]> {
  const extend = function* (rows: readonly Row[]): Generator<readonly Row[]> {
    yield rows
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
                  for (const nulls of ends) yield { list, lower, upper, from, unbounded, shown, hasMore, limit, nulls }
  }
}
