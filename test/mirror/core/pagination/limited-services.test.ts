/**
 * Services that limit what a request may ask for, enumerated as small lists: how far its bounds are
 * apart, how many rows a list has without saying that there are more, how large a page is. Whatever
 * happens, each row is mirrored, or a gap covers it.
 */
import { expect, test } from 'vitest'
import {
  formatPendingRanges,
  type PendingRanges,
  parsePendingRanges,
  type TimeRange,
} from '../../../../src/mirror/core/pagination/list-cursor.ts'
import type { ScanPage } from '../../../../src/mirror/core/pagination/page-protocol.ts'
import {
  emptyProfile,
  type ListEndpoint,
  type PagingProfile,
} from '../../../../src/mirror/core/pagination/paging-profile.ts'
import { readRanges } from '../../../../src/mirror/core/pagination/read-ranges.ts'
import type {
  MissedRange,
  PageReply,
  PageRequest,
} from '../../../../src/mirror/core/pagination/reading-state.ts'
import { sampled, sampledCount } from '../../../support/sampled.ts'

const day = 86_400
const now = 200 * day
const pageSize = 2

type Row = { readonly id: string; readonly at: number }
type Service = {
  readonly list: ListEndpoint
  readonly from: 'oldest' | 'newest'
  readonly hasMore: 'exact' | 'never' | 'always'
  readonly ignoresBounds?: boolean
  /** Seconds between the bounds, both of which are required. */
  readonly window?: number
  /** Rows of a page that can be read. */
  readonly readable?: number
  /** No page with this row can be read. */
  readonly bad?: string
}

const endpoint = (
  lowerParam: string | null,
  upperParam: string | null,
  usual: number,
): ListEndpoint => ({
  name: 'things',
  path: '/things',
  query: {},
  lowerParam,
  upperParam,
  isDocumented: lowerParam === 'from' || lowerParam === null || upperParam === null,
  partitions: [],
  pageSizes: { most: usual, usual },
  identify: String,
  times: () => new Map(),
})

function answer(rows: readonly Row[], service: Service, { bounds, limit }: PageRequest): PageReply {
  const { lower, upper } = bounds
  if (service.window !== undefined) {
    if (lower === undefined || upper === undefined)
      return { kind: 'refused', parameter: 'missing bound' }
    if (upper - lower > service.window) return { kind: 'refused', parameter: 'window' }
  }
  const isIn = ({ at }: Row) =>
    service.ignoresBounds || (at >= (lower ?? at) && at <= (upper ?? at))
  const matching = rows.filter(isIn).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
  if (service.from === 'newest') matching.reverse()
  const size = Math.min(
    limit ?? service.list.pageSizes?.most ?? pageSize,
    service.readable === undefined ? pageSize : 8,
  )
  const taken = matching.slice(0, size)
  const isBad = taken.some(({ id }) => id === service.bad)
  if (isBad || taken.length > (service.readable ?? taken.length))
    return { kind: 'unreadable', error: unreadable }
  const isMore = matching.length > size
  const hasMore = service.hasMore === 'always' || (service.hasMore === 'exact' && isMore)
  const times = taken.map(({ at }) => new Map([['at', at]]))
  const page: ScanPage = { ids: taken.map(({ id }) => id), times, hasMore, cursorLimit: now }
  return { kind: 'page', page }
}

const unreadable = new Error('unreadable')

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
  const reading = readRanges({
    list: service.list,
    profile: from.profile,
    ranges,
    isHasMoreReliableIfEmpty: true,
    now,
  })
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

function* everyList(
  most: number,
  steps: readonly number[],
  rows: readonly Row[] = [],
): Generator<readonly Row[]> {
  yield rows
  if (rows.length === most) return
  const last = rows.at(-1)?.at ?? now - 90 * day
  for (const step of steps)
    yield* everyList(most, steps, [...rows, { id: `r${rows.length}`, at: last + step }])
}

function missing(rows: readonly Row[], outcomes: readonly Outcome[]): string[] {
  const isCovered = (at: number) =>
    outcomes.some(({ gaps }) => gaps.some(({ range: { lo, hi } }) => at >= lo && at <= (hi ?? at)))
  return rows.flatMap(({ id, at }) =>
    outcomes.some(({ ids }) => ids.has(id)) || isCovered(at) ? [] : [id],
  )
}

/** Ends a reading before each of its requests, and continues it. */
function expectNothingMissing(
  lists: Iterable<readonly Row[]>,
  service: Service,
  profile: PagingProfile,
): void {
  const lost: object[] = []
  for (const rows of lists) {
    const start = { pending: [{ lo: 0, hi: null }], profile }
    const whole = read(rows, service, start, Number.POSITIVE_INFINITY)
    const note = (most: number, ids: readonly string[]) => {
      if (ids.length > 0) lost.push({ rows, most, ids })
    }
    note(whole.requests, missing(rows, [whole]))
    for (let most = 1; most < whole.requests; most++) {
      const ended = read(rows, service, start, most)
      const after = read(rows, service, ended, Number.POSITIVE_INFINITY)
      note(most, missing(rows, [ended, after]))
    }
  }
  expect(lost.slice(0, 3)).toEqual([])
}

for (const from of ['oldest', 'newest'] as const) {
  test(`bounds that may be only some days apart, ${from} first`, () => {
    const list = endpoint('from', 'to', pageSize)
    for (const days of sampled([7, 30], (count) => count === 30)) {
      const service: Service = { list, from, hasMore: 'exact', window: days * day }
      expectNothingMissing(everyList(3, [0, 1, day, 25 * day]), service, emptyProfile(list))
    }
  })

  for (const ignoresBounds of [false, true])
    test(`lists that are known to end without a word, ${from} first, bounds ${ignoresBounds ? 'ignored' : 'work'}`, () => {
      const list = endpoint('since', 'before', 2 * pageSize)
      const service: Service = { list, from, hasMore: 'never', ignoresBounds }
      const profile = { ...emptyProfile(list), listedAtMost: pageSize }
      expectNothingMissing(everyList(sampledCount(3, 4), [0, 1, day]), service, profile)
    })

  for (const hasMore of ['always', 'never', 'exact'] as const)
    test(`pages of fewer rows than documented, ${from} first, and \`hasMore\` is ${hasMore}`, () => {
      for (const [lower, upper] of [
        ['from', 'to'],
        ['since', null],
        [null, 'before'],
        ['since', 'before'],
      ] as const) {
        // Nothing else leads beyond a page.
        if ((from === 'oldest' ? lower : upper) === null) continue
        const list = endpoint(lower, upper, 3 * pageSize)
        const service: Service = { list, from, hasMore }
        // Within a second, no bound leads beyond a page.
        const isReachable = (rows: readonly Row[]) =>
          rows.every(({ at }) => rows.filter((row) => row.at === at).length <= pageSize)
        const rows = [...everyList(sampledCount(4, 5), [0, 1, day])].filter(isReachable)
        expectNothingMissing(rows, service, emptyProfile(list))
      }
    })

  test(`pages of which only some rows can be read, ${from} first`, () => {
    const list = endpoint('from', 'to', 8)
    for (const readable of sampled([1, 2, 3], (rows) => rows !== 2))
      for (const hasMore of ['exact', 'never'] as const)
        expectNothingMissing(
          everyList(sampledCount(4, 5), [0, 1, day]),
          { list, from, hasMore, readable },
          emptyProfile(list),
        )
  })

  test(`a row with which no page can be read is a gap, ${from} first`, () => {
    const most = sampledCount(3, 4)
    for (const [lower, upper] of [
      ['from', 'to'],
      ['since', null],
      [null, 'before'],
    ] as const) {
      const list = endpoint(lower, upper, 8)
      // Without that bound nothing leads past the row.
      if ((from === 'oldest' ? lower : upper) === null) continue
      for (const bad of ['r0', 'r1', 'r2', 'r3'].slice(0, most))
        for (const hasMore of ['exact', 'never'] as const) {
          const service: Service = { list, from, hasMore, readable: 8, bad }
          const lists = [...everyList(most, [1, day])].filter((rows) =>
            rows.some(({ id }) => id === bad),
          )
          expectNothingMissing(lists, service, emptyProfile(list))
          for (const rows of lists) {
            const start = { pending: [{ lo: 0, hi: null }], profile: emptyProfile(list) }
            const { ids, requests } = read(rows, service, start, Number.POSITIVE_INFINITY)
            // A neighbour within a second leaves no bound that passes the row alone: then the rest
            // is in the gap.
            const isNear = (row: Row) =>
              rows.some(({ id, at }) => id === bad && Math.abs(at - row.at) <= 1)
            const left = rows.filter((row) => row.id !== bad && !ids.has(row.id))
            // Newest first, a page of one row repeats the one before, so what is older is in the
            // gap.
            if (from === 'oldest' && rows.filter(isNear).length === 1)
              expect({ rows, left }).toEqual({ rows, left: [] })
            expect(requests).toBeLessThanOrEqual(130)
          }
        }
    }
  })

  test(`nothing is passed if no page at all can be read, ${from} first`, () => {
    const list = endpoint('from', 'to', 8)
    const rows = [{ id: 'r0', at: now - day }]
    const start = { pending: [{ lo: 0, hi: null }], profile: emptyProfile(list) }
    const service: Service = { list, from, hasMore: 'exact', readable: -1 }
    expect(() => read(rows, service, start, 100)).toThrow(unreadable)
  })
}
