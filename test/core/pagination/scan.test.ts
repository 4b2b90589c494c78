import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PageBatch, readList } from '../../../src/api/list-reader.ts'
import type { ApiGet } from '../../../src/core/api-request.ts'
import type { ListEndpoint } from '../../../src/core/pagination/list-endpoint.ts'
import { emptyProfile, type PagingProfile, resetUnsupported } from '../../../src/core/pagination/paging-profile.ts'
import { allTime, type TimeRange } from '../../../src/core/pagination/pending-ranges.ts'
import type { Json } from '../../../src/core/row.ts'
import { type Item, type ListBehaviour, listEndpoint, plainBehaviour, serveList } from './simulated-list.ts'

type ScanOutcome = {
  ids: Set<string>
  missed: { range: TimeRange; reason: string }[]
  requests: number
  known: PagingProfile | null
  position: readonly TimeRange[]
}

async function scanList(
  items: readonly Item[],
  manners: ListBehaviour,
  of: ListEndpoint,
  from?: Partial<ScanOutcome>,
): Promise<ScanOutcome> {
  const { get, requests } = serveList(items, manners, of)
  const ids = new Set<string>()
  const missed: ScanOutcome['missed'] = []
  let known: PagingProfile | null = from?.known ?? null
  let position: readonly TimeRange[] = from?.position ?? [allTime]
  for await (const read of readList(get, { list: of, profile: known, ranges: position, priority: 'backfill' })) {
    for (const item of read.items) ids.add(of.identify(item))
    missed.push(...read.missedRanges)
    known = read.profile
    position = read.pendingRanges
  }
  return { ids, missed, requests: requests(), known, position }
}

function unexplained(items: readonly Item[], { ids, missed }: ScanOutcome): Item[] {
  const inside = ({ lo, hi }: TimeRange, at: number) => at >= lo && (hi === null || at <= hi)
  return items.filter(({ id, at }) => !ids.has(id) && !missed.some(({ range }) => inside(range, at)))
}

/** n items; `seconds` chooses each one's time. `other` is a second time that orders nothing. */
const items = (n: number, seconds: (i: number) => number): Item[] =>
  Array.from({ length: n }, (_, i) => {
    const at = 1_700_000_000 + seconds(i)
    return { id: `i${String(i).padStart(6, '0')}`, at, other: at - ((i * 7919) % 5000), part: i % 2 === 0 }
  })

const sinceList = listEndpoint({ lower: 'since', parts: [{ part: true }, { part: false }] })
const callList = listEndpoint({ lower: 'from', upper: 'to' })
const beforeList = listEndpoint({ upper: 'before' })
const unknownList = listEndpoint({ lower: 'since', upper: 'before', documented: false })

function mostInOneSecond(rows: readonly Item[]): number {
  return Math.max(
    0,
    ...Map.groupBy(rows, ({ at }) => at)
      .values()
      .map((same) => same.length),
  )
}

describe('every combination of manners that a service may have', () => {
  const side = fc.constantFrom('inclusive' as const, 'exclusive' as const)
  const spread = fc.constantFrom(
    (i: number) => i * 37,
    (i: number) => Math.floor(i / 3),
    (i: number) => Math.floor(i / 90),
    (i: number) => (i < 260 ? i * 5 : i < 700 ? 1300 : 1300 + (i - 699) * 5),
    (i: number) => (i < 230 ? 0 : i),
    () => 0,
  )
  const size = fc.constantFrom(0, 1, 2, 49, 50, 51, 199, 200, 201, 400, 437, 1000)
  const common = {
    shown: fc.constant('as taken' as const),
    hasMore: fc.constantFrom('exact' as const, 'page is full' as const, 'always' as const),
    fraction: fc.boolean(),
  }
  const check = async (of: ListEndpoint, n: number, seconds: (i: number) => number, manners: ListBehaviour) => {
    const truth = items(n, seconds)
    const first = await scanList(truth, manners, of)
    expect(unexplained(truth, first).length).toBe(0)
    expect(first.requests).toBeLessThan(30 + n / 20)
    // What can be had is no gap: only a second with more rows than a page is one. Nor can anybody tell a list of exactly
    // one page, shown the wrong way round and said to have more, from the wrong end of a longer list.
    const turned = n > 49 && n <= 200 && manners.shown === 'reversed' && manners.hasMore !== 'exact'
    const page = manners.hasMore === 'always' ? 50 : 90
    if (mostInOneSecond(truth) < page && !turned) expect(first.missed).toEqual([])
    // A second pass over an unchanged list, and one after some rows have come.
    const again = await scanList(truth, manners, of, first)
    expect(again.requests).toBeLessThanOrEqual(4)
    const more = [
      ...truth,
      ...items(n + 260, (i) => seconds(i) + 3)
        .slice(n)
        .map((item) => ({ ...item, id: `n${item.id}`, at: item.at + 100_000 })),
    ]
    const news = await scanList(more, manners, of, again)
    const all = { ...news, ids: new Set([...first.ids, ...news.ids]), missed: [...first.missed, ...news.missed] }
    expect(unexplained(more, all).length).toBe(0)
    return first
  }

  test('a list with a lower bound loses no row and says what it cannot see', async () => {
    await fc.assert(
      fc.asyncProperty(size, spread, fc.record({ ...common, lower: side }), async (n, seconds, manners) => {
        await check(sinceList, n, seconds, { ...plainBehaviour, ...manners })
      }),
      { numRuns: 300 },
    )
  })

  test('a list with both bounds loses no row, whichever end comes first', async () => {
    const manners = fc.record({
      ...common,
      lower: side,
      upper: side,
      from: fc.constantFrom('oldest' as const, 'newest' as const),
    })
    await fc.assert(
      fc.asyncProperty(size, spread, manners, async (n, seconds, chosen) => {
        await check(callList, n, seconds, { ...plainBehaviour, ...chosen })
      }),
      { numRuns: 400 },
    )
  })

  test('a list with an upper bound loses no row', async () => {
    const manners = fc.record({
      ...common,
      shown: fc.constantFrom('as taken' as const, 'reversed' as const),
      upper: side,
    })
    await fc.assert(
      fc.asyncProperty(size, spread, manners, async (n, seconds, chosen) => {
        await check(beforeList, n, seconds, { ...plainBehaviour, from: 'newest', ...chosen })
      }),
      { numRuns: 300 },
    )
  })

  test('a list whose parameters nobody has documented is read, or its rest is named', async () => {
    const anyBound = fc.constantFrom('inclusive' as const, 'exclusive' as const, 'ignored' as const, 'refused' as const)
    const manners = fc.record({
      ...common,
      shown: fc.constantFrom('as taken' as const, 'reversed' as const),
      lower: anyBound,
      upper: anyBound,
      from: fc.constantFrom('oldest' as const, 'newest' as const),
      limit: fc.constantFrom('honoured' as const, 'ignored' as const, 'refused' as const),
      everything: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(size, spread, manners, async (n, seconds, chosen) => {
        const truth = items(n, seconds)
        const outcome = await scanList(truth, { ...plainBehaviour, ...chosen }, unknownList)
        expect(unexplained(truth, outcome).length).toBe(0)
        expect(outcome.requests).toBeLessThan(40 + n / 10)
      }),
      { numRuns: 600 },
    )
  })
})

test('1 000 rows, 37 seconds apart, cost 6 pages and one question which end they come from, and nothing new costs 1', async () => {
  const truth = items(1000, (i) => i * 37)
  const first = await scanList(truth, plainBehaviour, sinceList)
  expect(first).toMatchObject({ requests: 7, missed: [] })
  expect(await scanList(truth, plainBehaviour, sinceList, first)).toMatchObject({ requests: 1, missed: [] })
})

test('a crowded second that its parts show whole is no gap', async () => {
  const truth = items(700, (i) => (i < 200 ? i : i < 500 ? 200 : i))
  const outcome = await scanList(truth, plainBehaviour, sinceList)
  expect(outcome.missed).toEqual([])
  expect(outcome.ids.size).toBe(700)
})

test('a crowded second that nothing narrows is one gap of one second', async () => {
  const truth = items(700, (i) => (i < 200 ? i : i < 500 ? 200 : i))
  const outcome = await scanList(truth, plainBehaviour, listEndpoint({ lower: 'since' }))
  expect(outcome.missed).toEqual([
    { range: { lo: 1_700_000_200, hi: 1_700_000_200 }, reason: 'more rows share this second than one page holds' },
  ])
  expect(outcome.ids.size).toBe(600)
})

test('a list that comes whole, however long, is no gap and costs one request', async () => {
  const manners: ListBehaviour = {
    ...plainBehaviour,
    everything: true,
    lower: 'ignored',
    upper: 'ignored',
    limit: 'ignored',
  }
  for (const n of [201, 900]) {
    const outcome = await scanList(
      items(n, (i) => i * 37),
      manners,
      unknownList,
    )
    expect(outcome).toMatchObject({ requests: 1, missed: [] })
    expect(outcome.ids.size).toBe(n)
  }
})

test('pages ordered by a time that no row shows are whole where each shows the last row of the one before', async () => {
  const shown: ListEndpoint = { ...sinceList, times: (item) => new Map([...sinceList.times(item)].slice(1)) }
  const joined = await scanList(
    items(1000, (i) => i * 37),
    plainBehaviour,
    shown,
  )
  expect(joined.missed).toEqual([])
  expect(joined.ids.size).toBe(1000)
})

test('pages ordered by a time that no row shows are in doubt where they do not join', async () => {
  // What the rows show runs ahead of what orders them: a bound taken from it leaves rows out.
  const ahead = items(1000, (i) => i * 37).map((item, i) => ({
    ...item,
    other: item.at + 20_000 + ((i * 7919) % 5000),
  }))
  const shown: ListEndpoint = { ...sinceList, times: (item) => new Map([...sinceList.times(item)].slice(1)) }
  const torn = await scanList(ahead, plainBehaviour, shown)
  expect(torn.ids.size).toBeLessThan(1000)
  expect(torn.missed).toMatchObject([{ reason: 'the rows follow no time that they show, so that pages may not join' }])
})

test('a single row that is always said to have more behind it is no gap', async () => {
  const outcome = await scanList(
    items(1, () => 0),
    { ...plainBehaviour, hasMore: 'always', from: 'newest' },
    beforeList,
  )
  expect(outcome.missed).toEqual([])
})

test('a belief that a page refutes leads no cursor past a row', async () => {
  const shown: ListEndpoint = {
    ...sinceList,
    times: (item) => {
      const [at = 0, other = 0] = sinceList.times(item).values()
      return new Map([
        ['handledAt', at + ((at * 7919) % 50_000)],
        ['other', other],
      ])
    },
  }
  const known = { ...emptyProfile(shown), order: { fields: ['handledAt'], way: null } }
  const outcome = await scanList(
    items(1000, (i) => i * 37),
    plainBehaviour,
    shown,
    { known },
  )
  expect(outcome.missed).toEqual([])
  expect(outcome.ids.size).toBe(1000)
})

test('a service that always says that there is more is found out, and then believed no more than it deserves', async () => {
  const manners = { ...plainBehaviour, hasMore: 'always' } as const
  const first = await scanList(
    items(30, (i) => i * 60),
    manners,
    sinceList,
  )
  expect(first).toMatchObject({ requests: 2, missed: [], known: { exact: false } })
  expect(
    await scanList(
      items(30, (i) => i * 60),
      manners,
      sinceList,
      first,
    ),
  ).toMatchObject({ requests: 1, missed: [] })
  const longer = await scanList(
    items(437, (i) => i * 60),
    manners,
    sinceList,
    { known: first.known },
  )
  expect([longer.ids.size, longer.missed]).toEqual([437, []])
})

test('that a full page has more behind it is not forgotten for small pages of rows that come meanwhile', async () => {
  const truth = items(60, (i) => i * 37)
  const news = items(63, (i) => i * 37).slice(60)
  const manners = { ...plainBehaviour, from: 'newest', upper: 'ignored', limit: 'ignored', hasMore: 'always' } as const
  const { get, requests } = serveList(truth, manners, unknownList)
  const busy: ApiGet = async (path, query, lane) => {
    if (requests() > 2) truth.push(...news.splice(0, 1))
    return { ...(await get(path, query, lane)), servedAt: truth.at(-1)!.at }
  }
  const missed = []
  const reading = { list: unknownList, known: null, ranges: [allTime], lane: 'backfill' } as const
  for await (const read of readList(busy, reading)) missed.push(...read.missedRanges)
  expect(missed).toMatchObject([{ range: allTime }])
})

describe('a service that hides rows after it has cut a page', () => {
  /** Pages of 200, of which every tenth row shows: short, and with more behind them all the same. */
  const hiding = (truth: readonly Item[]): ApiGet => {
    const { get } = serveList(truth, plainBehaviour, sinceList)
    return async (path, query, lane) => {
      const answer = await get(path, query, lane)
      const { items: all, hasMore } = answer.data as { items: Json[]; hasMore: boolean }
      return { ...answer, data: { items: all.filter((_, i) => i % 10 === 0 || i === all.length - 1), hasMore } }
    }
  }

  test('is walked to its end, also where its short pages were once believed to be the last', async () => {
    const believed = { ...emptyProfile(sinceList), exact: false }
    const truth = items(900, (i) => i * 60)
    const ends = []
    for (const known of [null, resetUnsupported(sinceList, believed)]) {
      let last: PageBatch | null = null
      const reading = { list: sinceList, known, ranges: [allTime], lane: 'verify' } as const
      for await (const read of readList(hiding(truth), reading)) last = read
      ends.push([last?.pendingRanges[0]?.lo, last?.profile.isHasMoreExact])
    }
    expect(ends).toEqual([
      [truth.at(-1)!.at, true],
      [truth.at(-1)!.at, true],
    ])
  })
})
