/**
 * Services that limit what a request may ask for, enumerated as small lists: how far its bounds are apart, how many rows a
 * list has without saying that there are more, how large a page is. Whatever happens, each row is mirrored, or a gap covers it.
 */
import { expect, test } from 'vitest'
import {
  formatPendingRanges,
  type PendingRanges,
  parsePendingRanges,
  type TimeRange,
} from '../../../../src/mirror/core/pagination/list-cursor.ts'
import type { ScanPage } from '../../../../src/mirror/core/pagination/page-exchange.ts'
import {
  emptyProfile,
  type ListEndpoint,
  type PagingProfile,
} from '../../../../src/mirror/core/pagination/paging-profile.ts'
import { readRanges } from '../../../../src/mirror/core/pagination/read-ranges.ts'
import type { MissedRange, PageReply, PageRequest } from '../../../../src/mirror/core/pagination/reading-state.ts'

const day = 86_400
const now = 1000 * day
const pageSize = 2

type Row = { readonly id: string; readonly at: number }
type Service = {
  readonly list: ListEndpoint
  readonly from: 'oldest' | 'newest'
  readonly hasMore: 'exact' | 'never'
  readonly ignoresBounds?: boolean
  /** Seconds between the bounds, both of which are required. */
  readonly window?: number
  /** Rows of a page that can be read. */
  readonly readable?: number
}

const endpoint = (lowerParam: string | null, upperParam: string | null, usual: number): ListEndpoint => ({
  name: 'things',
  path: '/things',
  query: {},
  lowerParam,
  upperParam,
  isDocumented: lowerParam === 'from',
  partitions: [],
  pageSizes: { most: usual, usual },
  identify: String,
  times: () => new Map(),
})

function answer(rows: readonly Row[], service: Service, { bounds, limit }: PageRequest): PageReply {
  const { lower, upper } = bounds
  if (service.window !== undefined) {
    if (lower === undefined || upper === undefined) return { kind: 'refused', parameter: 'missing bound' }
    if (upper - lower > service.window) return { kind: 'refused', parameter: 'window' }
  }
  const isIn = ({ at }: Row) => service.ignoresBounds || (at >= (lower ?? at) && at <= (upper ?? at))
  const matching = rows.filter(isIn).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
  if (service.from === 'newest') matching.reverse()
  const size = Math.min(
    limit ?? service.list.pageSizes?.most ?? pageSize,
    service.readable === undefined ? pageSize : 8,
  )
  const taken = matching.slice(0, size)
  if (taken.length > (service.readable ?? taken.length)) return { kind: 'unreadable' }
  const hasMore = service.hasMore === 'exact' && matching.length > size
  const times = taken.map(({ at }) => new Map([['at', at]]))
  const page: ScanPage = { ids: taken.map(({ id }) => id), times, hasMore, cursorLimit: now }
  return { kind: 'page', page }
}

type Outcome = {
  readonly ids: ReadonlySet<string>
  readonly gaps: readonly MissedRange[]
  readonly pending: PendingRanges
  readonly profile: PagingProfile
  readonly requests: number
  readonly isDone: boolean
}

/** `most`: the run ends after so many requests. */
function read(
  rows: readonly Row[],
  service: Service,
  from: Pick<Outcome, 'pending' | 'profile'>,
  most: number,
): Outcome {
  const start: TimeRange = { lo: 0, hi: null }
  const ranges = parsePendingRanges(formatPendingRanges(from.pending), start)
  const reading = readRanges({ list: service.list, profile: from.profile, ranges, isHasMoreReliableIfEmpty: true, now })
  const ids = new Set<string>()
  const gaps: MissedRange[] = []
  let step = reading.next()
  let requests = 0
  let committed = { pending: from.pending, profile: from.profile }
  const commit = () => {
    const { pendingRanges, missedRanges, profile } = step.done ? step.value : step.value.progress
    gaps.push(...missedRanges)
    committed = { pending: pendingRanges, profile }
  }
  while (!step.done && requests < most) {
    if (requests > 400) throw new Error('the reading does not end')
    const reply = answer(rows, service, step.value)
    requests++
    if (reply.kind === 'page') for (const id of reply.page.ids) ids.add(id)
    step = reading.next(reply)
    commit()
  }
  return { ids, gaps, ...committed, requests, isDone: step.done === true }
}

function* everyList(most: number, steps: readonly number[], rows: readonly Row[] = []): Generator<readonly Row[]> {
  yield rows
  if (rows.length === most) return
  const last = rows.at(-1)?.at ?? now - 90 * day
  for (const step of steps) yield* everyList(most, steps, [...rows, { id: `r${rows.length}`, at: last + step }])
}

function missing(rows: readonly Row[], outcomes: readonly Outcome[]): string[] {
  const isCovered = (at: number) =>
    outcomes.some(({ gaps }) => gaps.some(({ range: { lo, hi } }) => at >= lo && at <= (hi ?? at)))
  return rows.flatMap(({ id, at }) => (outcomes.some(({ ids }) => ids.has(id)) || isCovered(at) ? [] : [id]))
}

/** Ends a reading before each of its requests, and continues it. */
function expectNothingMissing(lists: Iterable<readonly Row[]>, service: Service, profile: PagingProfile): void {
  for (const rows of lists) {
    const start = { pending: [{ lo: 0, hi: null }], profile }
    const whole = read(rows, service, start, Number.POSITIVE_INFINITY)
    expect({ rows, missing: missing(rows, [whole]) }).toEqual({ rows, missing: [] })
    for (let most = 1; most < whole.requests; most++) {
      const ended = read(rows, service, start, most)
      const after = read(rows, service, ended, Number.POSITIVE_INFINITY)
      expect({ rows, most, missing: missing(rows, [ended, after]) }).toEqual({ rows, most, missing: [] })
    }
  }
}

for (const from of ['oldest', 'newest'] as const) {
  test(`bounds that may be only some days apart, ${from} first`, () => {
    const list = endpoint('from', 'to', pageSize)
    for (const days of [7, 30]) {
      const service: Service = { list, from, hasMore: 'exact', window: days * day }
      expectNothingMissing(everyList(3, [0, 1, day, 25 * day]), service, emptyProfile(list))
    }
  })

  for (const ignoresBounds of [false, true])
    test(`lists that are known to end without a word, ${from} first, bounds ${ignoresBounds ? 'ignored' : 'work'}`, () => {
      const list = endpoint('since', 'before', 2 * pageSize)
      const service: Service = { list, from, hasMore: 'never', ignoresBounds }
      const profile = { ...emptyProfile(list), listedAtMost: pageSize }
      expectNothingMissing(everyList(4, [0, 1, day]), service, profile)
    })

  test(`pages of which only some rows can be read, ${from} first`, () => {
    const list = endpoint('from', 'to', 8)
    for (const readable of [1, 2, 5])
      for (const hasMore of ['exact', 'never'] as const)
        expectNothingMissing(everyList(5, [0, 1, day]), { list, from, hasMore, readable }, emptyProfile(list))
  })
}
